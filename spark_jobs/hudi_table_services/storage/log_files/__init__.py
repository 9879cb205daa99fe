"""Blocks in the log files of merge-on-read tables."""
