"""Execution of plans on Spark and Arrow. It returns write stats and never touches the timeline."""
