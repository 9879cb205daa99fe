"""Clustering on Spark."""
