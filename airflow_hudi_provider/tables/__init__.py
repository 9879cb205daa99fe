"""Which tables the provider knows, and how tasks follow their commits."""
