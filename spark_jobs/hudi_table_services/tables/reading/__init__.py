"""Load what a read needs to know about a table: its state at an instant, the commits of a window, statistics."""
