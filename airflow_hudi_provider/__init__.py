"""Apache Airflow provider for table services on Apache Hudi tables."""

__version__ = "0.1.0"
