"""Public functions that read tables on Spark."""
