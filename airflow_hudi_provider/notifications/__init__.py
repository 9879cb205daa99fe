"""Notifiers for callbacks and deadline alerts."""
