"""Copy row groups of a base file into its next version without decoding them (docs/adr/0067-copied-row-groups.md)."""
