"""Compactions of a table."""
