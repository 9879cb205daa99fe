"""The job scripts of each table service: their flags, requests and jobs."""
