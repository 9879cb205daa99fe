"""Encode and decode the contents of Hudi's files. No module of this package opens a file."""
