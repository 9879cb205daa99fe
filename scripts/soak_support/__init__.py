"""Find out whether the processes of an Airflow grow while DAGs write, watch and maintain tables."""
