"""Tasks that wait for a table."""
