"""Storage systems: local, memory, object stores."""
