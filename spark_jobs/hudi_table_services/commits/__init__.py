"""Change a timeline: attempts to write and to execute plans, rollbacks, the one function that completes instants."""
