"""Health reports."""
