"""What the provider adds to Airflow itself."""
