"""Read a table without Spark. This package writes nothing."""
