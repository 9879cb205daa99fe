"""Requests and report of the compaction jobs."""
