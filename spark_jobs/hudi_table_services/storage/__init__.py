"""Places: where bytes live, how instants and locks are created, what a table looks like now."""
