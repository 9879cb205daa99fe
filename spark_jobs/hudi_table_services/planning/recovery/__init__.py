"""Planning of rollback, restore, savepoints and repair."""
