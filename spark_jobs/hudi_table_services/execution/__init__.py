"""Execution of plans on Spark and Arrow. This package returns write stats and never changes the timeline."""
