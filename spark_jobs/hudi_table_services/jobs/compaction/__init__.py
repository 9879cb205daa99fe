"""Compaction jobs."""
