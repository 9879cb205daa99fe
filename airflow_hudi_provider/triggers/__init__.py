"""Triggers, which let tasks wait without a worker slot."""
