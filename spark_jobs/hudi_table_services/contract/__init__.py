"""The documents that a job and its caller exchange: requests, reports and results.

The modules use the standard library only.
"""
