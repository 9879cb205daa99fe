"""Clustering jobs."""
