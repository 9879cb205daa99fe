"""Parts of the tasks of this provider: identity, arguments, memory, metrics and lineage."""
