"""Execute writes on Spark."""
