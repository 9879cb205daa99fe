"""Airflow operators that write Hudi tables and run table services, in the worker or on Spark."""
