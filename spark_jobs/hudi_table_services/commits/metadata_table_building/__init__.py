"""Build and drop partitions of a metadata table. The caller has the table lock."""
