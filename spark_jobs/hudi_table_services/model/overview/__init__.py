"""Values that describe a table for pages and terminals."""
