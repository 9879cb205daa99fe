"""DAGs of the tests: tasks that are deferred while spark-submit runs."""

import os
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import DAG

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

FOLDER = os.environ["HUDI_EXAMPLES_FOLDER"]


def load(dag_id: str, dagrun_timeout: timedelta | None = None, **arguments: Any) -> DAG:
    """A DAG with one task, which loads the ten rows into the table of the DAG."""
    with DAG(
        dag_id,
        schedule=None,
        start_date=datetime(2013, 1, 1),
        dagrun_timeout=dagrun_timeout,
        default_args={"retries": 3, "retry_delay": timedelta(seconds=1)},
    ) as dag:
        UpsertWithSizingOperator(
            task_id="load",
            base_path=f"{FOLDER}/{dag_id}",
            source_path=f"{FOLDER}/ten.parquet",
            record_key="id",
            deferrable=True,
            **{"table_name": dag_id, **arguments},
        )
    return dag


# In these DAGs, a program that the test writes to this path replaces spark-submit.
WAITS = {
    "spark_binary": f"{FOLDER}/waits/spark-submit",
    "take_turns": True,
    "table_name": "trips",
    "check_source": False,
}

on_spark = load("on_spark", take_turns=True)
cleared = load("cleared", **WAITS)
failed = load("failed", **WAITS)
skipped = load("skipped", dagrun_timeout=timedelta(seconds=100), **WAITS)
late = load("late", execution_timeout=timedelta(seconds=45), **{**WAITS, "retries": 0})
