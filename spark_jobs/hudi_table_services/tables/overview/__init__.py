"""Read what people ask first about a table: its size, rows, partitions, files, schemas and lock."""
