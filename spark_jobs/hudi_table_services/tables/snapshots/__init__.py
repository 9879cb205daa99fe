"""Load the file slices of a table as of its latest completed write."""
