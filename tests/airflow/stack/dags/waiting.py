"""Sensors that wait for many tables in a pool of two slots, and a task that needs one of these slots."""

import os

from airflow.sdk import DAG, task

from airflow_hudi_provider.sensors.commit_count import HudiCommitCountSensor
from airflow_hudi_provider.sensors.instant import HudiInstantSensor

FOLDER = os.environ["HUDI_EXAMPLES_FOLDER"]
TABLES = [f"{FOLDER}/waiting/{number:02d}" for number in range(int(os.environ["WAITING_TABLES"]))]
HALF = len(TABLES) // 2
WAITING = {"pool": "two_slots", "deferrable": True, "poke_interval": 1, "timeout": 600}

with DAG("many_tables", schedule=None):
    HudiInstantSensor.partial(task_id="instant", **WAITING).expand(base_path=TABLES[:HALF])
    HudiCommitCountSensor.partial(task_id="count", every_n_commits=2, **WAITING).expand(
        base_path=TABLES[HALF:]
    )

with DAG("another_task", schedule=None):

    @task(pool="two_slots")
    def work() -> str:
        return "done"

    work()
