"""Run a separate Airflow: four processes with SQLite and LocalExecutor, and all files in one folder."""
