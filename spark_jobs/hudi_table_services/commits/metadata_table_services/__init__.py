"""Services of the metadata table: compaction, cleaning and archival. They change only the metadata table."""
