"""Execution of writes on Spark."""
