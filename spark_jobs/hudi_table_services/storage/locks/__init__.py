"""The table lock, the writer queue, and heartbeats."""
