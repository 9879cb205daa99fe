"""The provider's plugin for Airflow."""
