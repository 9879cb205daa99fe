"""Waiting without a worker slot."""
