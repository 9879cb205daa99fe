"""A whole Airflow of one's own: four processes, SQLite, LocalExecutor, nothing outside of one folder."""
