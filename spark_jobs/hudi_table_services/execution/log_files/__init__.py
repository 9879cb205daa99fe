"""Rows in the blocks of log files."""
