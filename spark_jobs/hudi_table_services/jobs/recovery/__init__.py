"""Rollback, restore, savepoints and repair."""
