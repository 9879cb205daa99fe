"""Spark sessions of jobs: local sessions, sessions of spark-submit, and sessions of a Spark Connect server."""
