"""DAGs of the tests. Each run loads ten rows of one day into the table of its DAG."""

import os
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.sensors.instant import HudiInstantSensor

FOLDER = os.environ["HUDI_EXAMPLES_FOLDER"]
OPTIMISTIC = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}
# Each row contains the time of its write, so that tests detect a day that was written twice.
ROWS = """
SELECT CONCAT('{{ data_interval_start | ds }}', '-', id) AS k, '{{ data_interval_start | ds }}' AS day, id,
       current_timestamp() AS written_at
FROM source
"""


def load(table: str, sql: str = ROWS, **arguments: Any) -> UpsertWithSizingOperator:
    return UpsertWithSizingOperator(
        task_id="load",
        base_path=f"{FOLDER}/{table}",
        table_name=table,
        source_path=f"{FOLDER}/ten.parquet",
        source_sql=sql,
        record_key="k",
        partition_by="day",
        hudi_options=OPTIMISTIC,
        storage_conn_id="store",  # a connection with a secret that no file may contain
        **arguments,
    )


def days(dag_id: str) -> DAG:
    return DAG(
        dag_id,
        schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
        start_date=datetime(2013, 1, 1),
        end_date=datetime(2013, 1, 31),
        catchup=False,
        default_args={"retries": 3, "retry_delay": timedelta(seconds=1)},
    )


with days("backwards"):
    load("backwards")
with days("parallel"):
    load("parallel")
with days("one_of_two"):
    load("shared")
with days("two_of_two"):
    load("shared")
with days("turns"):
    load("turns", take_turns=True)
with days("cancelled"):
    # Ten rows take a second each, so a test can cancel the backfill while one day is written and other days wait.
    load(
        "cancelled",
        f"{ROWS} WHERE reflect('java.lang.Thread', 'sleep', 1000L) IS NOT NULL",
        take_turns=True,
    )
# Ten rows take two seconds each, so a test can end the task while it is running.
for slow in ("marked_failed", "killed"):
    with days(slow):
        load(slow, f"{ROWS} WHERE reflect('java.lang.Thread', 'sleep', 2000L) IS NOT NULL")
with DAG("watch", schedule=None):
    HudiInstantSensor(
        task_id="wait", base_path=f"{FOLDER}/watched", deferrable=True, poke_interval=1, timeout=300
    )
