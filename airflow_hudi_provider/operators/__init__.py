"""Tasks that submit a table service to Spark."""
