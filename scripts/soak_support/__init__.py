"""Whether the processes of an Airflow grow while tables are written, followed and looked after."""
