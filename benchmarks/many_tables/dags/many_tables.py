"""Load each table once per run, with one mapped task for each table."""

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

FOLDER = Path(os.environ["MANY_TABLES_FOLDER"])
TABLES = int(os.environ["MANY_TABLES_COUNT"])
TASKS = int(os.environ["MANY_TABLES_TASKS"])

with DAG(
    "many_tables",
    schedule=None,
    max_active_runs=1,
    max_active_tasks=TASKS,
    is_paused_upon_creation=True,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=5)},
):
    UpsertWithSizingOperator.partial(
        task_id="load",
        record_key="id",
        partition_by="region",
        ordering_field="version",
        spark_conn_id="spark_connect",
        map_index_template="{{ task.table_name }}",
    ).expand_kwargs(
        [
            {
                "base_path": str(FOLDER / "tables" / f"t{number:03}"),
                "table_name": f"t{number:03}",
                # All tables get the same rows, so that the files of a round are written only once.
                "source_path": str(FOLDER / "landing" / "{{ dag_run.conf['round'] }}.parquet"),
            }
            for number in range(TABLES)
        ]
    )
