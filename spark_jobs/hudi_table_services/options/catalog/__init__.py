"""Options of the catalog sync."""
