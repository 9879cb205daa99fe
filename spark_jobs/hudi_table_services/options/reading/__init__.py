"""Typed options of reads."""
