"""Reading the metadata table on storage. Nothing here writes."""
