"""The parts of a summary that differ by service: one module per service."""
