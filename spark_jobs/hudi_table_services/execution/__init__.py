"""Carry out plans on Spark and Arrow; returns write stats, never touches the timeline."""
