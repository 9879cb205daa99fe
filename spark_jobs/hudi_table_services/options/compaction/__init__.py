"""Options of compaction."""
