"""Execution of clustering plans on Spark."""
