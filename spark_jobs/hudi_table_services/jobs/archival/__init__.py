"""Archival jobs."""
