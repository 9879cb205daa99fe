"""Write jobs."""
