"""Declarations of the hoodie.* keys, by service."""
