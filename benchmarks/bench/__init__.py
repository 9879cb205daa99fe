"""Compare table writers on one machine."""
