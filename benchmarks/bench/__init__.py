"""Side-by-side measurement of table writers on one machine."""
