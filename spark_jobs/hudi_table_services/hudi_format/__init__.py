"""Codecs between Hudi's file contents and values. No module here opens a file."""
