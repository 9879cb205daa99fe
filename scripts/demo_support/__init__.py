"""Modules that the two demo programs use."""
