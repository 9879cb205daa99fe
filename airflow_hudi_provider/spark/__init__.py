"""How tasks run the job scripts on Spark: environment, engine files, documents, supervised runs."""
