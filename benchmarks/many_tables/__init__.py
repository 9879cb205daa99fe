"""Load many small tables from one Airflow through one Spark Connect server."""
