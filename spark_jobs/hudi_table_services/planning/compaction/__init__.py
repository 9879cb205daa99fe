"""Choose the file slices of a merge-on-read table whose log files a compaction merges."""
