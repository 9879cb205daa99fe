"""The documents between a job and its caller: requests, reports and results. Standard library only."""
