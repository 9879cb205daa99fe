"""What a task of this provider is: identity, arguments, memory, metrics and lineage."""
