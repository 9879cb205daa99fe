"""Collect the facts about data files that the metadata table stores."""
