"""Rules of the config check."""
