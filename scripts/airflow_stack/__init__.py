"""A separate Airflow: four processes, SQLite, LocalExecutor, all files in one folder."""
