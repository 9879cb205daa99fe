"""Triggers, with which tasks wait without a worker slot."""
