"""Writing rows on Spark."""
