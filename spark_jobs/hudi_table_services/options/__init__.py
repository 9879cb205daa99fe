"""The hoodie.* keys: their declarations, and typed options of each service."""
