"""Locks, turns and heartbeats."""
