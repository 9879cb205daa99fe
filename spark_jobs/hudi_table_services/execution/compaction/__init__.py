"""Carry out the operations of a compaction plan."""
