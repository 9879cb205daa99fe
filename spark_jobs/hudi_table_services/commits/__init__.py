"""Changes of a timeline: attempts, rollbacks, the critical section of a commit."""
