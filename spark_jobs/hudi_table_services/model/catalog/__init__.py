"""Values of the catalog sync."""
