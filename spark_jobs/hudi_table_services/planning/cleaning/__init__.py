"""Planning of cleaning."""
