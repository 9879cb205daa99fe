"""Pages inside Airflow's UI: the tables, one table, what a run did. Served by the API server only."""
