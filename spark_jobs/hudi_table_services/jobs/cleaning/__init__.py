"""Cleaning jobs."""
