"""Change a timeline: write attempts, plan executions, rollbacks, and the only function that completes instants."""
