"""Facts about data files that the metadata table stores."""
