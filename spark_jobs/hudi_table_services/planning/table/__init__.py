"""Decisions about a table itself: creation, schema, properties."""
