"""Declarations of the hoodie.* keys. Each module contains the keys of one service."""
