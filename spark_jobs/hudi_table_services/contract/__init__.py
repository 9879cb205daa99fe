"""Requests and results of jobs, versioned JSON."""
