"""Read the main facts about a table: its size, rows, partitions, files, schemas and lock."""
