"""Jobs of the metadata table."""
