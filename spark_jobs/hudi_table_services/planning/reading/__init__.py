"""Decide which file slices of a table a read opens."""
