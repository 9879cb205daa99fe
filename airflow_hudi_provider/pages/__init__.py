"""Pages inside Airflow's UI: all tables, one table, and the results of a run.

Only the API server serves these pages.
"""
