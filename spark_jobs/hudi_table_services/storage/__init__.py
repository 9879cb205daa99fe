"""Access to a table's files: storage systems, timeline, archive, locks, snapshots."""
