"""Planning of the changes of the metadata table that belong to a change of the table, and of its services."""
