"""Request and report of the catalog sync."""
