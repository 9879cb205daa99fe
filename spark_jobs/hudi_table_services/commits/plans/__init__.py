"""Executions and cancellations of the plans of table services."""
