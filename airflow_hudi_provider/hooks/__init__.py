"""Access to Hudi tables without Spark."""
