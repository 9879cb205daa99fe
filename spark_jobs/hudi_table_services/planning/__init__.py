"""Planners: pure functions from a snapshot and options to a plan, without clock, randomness or I/O."""
