"""The hoodie.* keys: their declarations, and the typed options of each service."""
