"""Values that describe a table for people."""
