"""Reading a table without Spark. Nothing here writes."""
