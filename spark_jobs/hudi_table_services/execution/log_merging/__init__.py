"""Merge the log files of a file slice with its base file (merge-on-read)."""
