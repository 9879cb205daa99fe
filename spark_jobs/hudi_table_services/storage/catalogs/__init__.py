"""Clients of catalogs: Hive Metastore and AWS Glue."""
