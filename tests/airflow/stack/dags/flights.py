"""A DAG that loads the table of the example ``preview_then_approve``: six files, each with every destination."""

import os

from airflow.sdk import DAG

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

FOLDER = os.environ["HUDI_EXAMPLES_FOLDER"]

with DAG("six_files", schedule=None):
    UpsertWithSizingOperator(
        task_id="load",
        base_path=f"{FOLDER}/flights",
        table_name="flights",
        operation="insert",
        source_path=f"{FOLDER}/flights.parquet",
        record_key="id",
        hudi_options={
            "hoodie.copyonwrite.insert.auto.split": False,
            "hoodie.copyonwrite.insert.split.size": 100,
        },
    )
