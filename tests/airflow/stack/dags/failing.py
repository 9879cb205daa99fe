"""A DAG whose load fails before Spark starts, because its source does not exist."""

import os

from airflow.sdk import DAG

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

FOLDER = os.environ["HUDI_EXAMPLES_FOLDER"]

with DAG("refused", schedule=None):
    UpsertWithSizingOperator(
        task_id="load",
        base_path=f"{FOLDER}/refused",
        table_name="refused",
        source_path=f"{FOLDER}/no_such.parquet",
        record_key="id",
    )
