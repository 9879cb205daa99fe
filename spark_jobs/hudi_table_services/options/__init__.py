"""The hoodie.* keys: the declaration of each key, and the typed options of each service."""
