"""Run a separate Airflow: four processes, a database on PostgreSQL or SQLite, and all files in one folder."""
