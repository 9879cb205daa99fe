"""Read the source of a write: its columns, its rows as a Spark frame, and Parquet files with Arrow."""
