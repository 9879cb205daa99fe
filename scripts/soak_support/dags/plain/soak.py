"""As many DAGs, tasks and triggers as in the folder `ours`, but without this project.

If the processes of Airflow grow while these DAGs run, this project is not the cause.
"""

import os
import time
from datetime import datetime, timedelta

from airflow.providers.standard.sensors.time_delta import TimeDeltaSensor
from airflow.sdk import DAG, Asset, task

EVERY = timedelta(seconds=float(os.environ["SOAK_WRITE_SECONDS"]))
WAITING = 40
WRITTEN = Asset("x-soak://written")
SETTINGS = {
    "start_date": datetime(2026, 1, 1),
    "catchup": False,
    "max_active_runs": 1,
    "is_paused_upon_creation": True,
    # On a busy machine, heartbeats of tasks may be late. Airflow then considers the task dead and retries it.
    "default_args": {"retries": 3, "retry_delay": timedelta(seconds=10)},
}


@task
def work(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


with DAG("soak_write", schedule=EVERY, **SETTINGS):
    work.override(outlets=[WRITTEN], task_id="load")(work.override(task_id="land")(1))

with DAG("soak_wait", schedule=EVERY, **SETTINGS):
    for name in ("one_commit", "a_count"):
        TimeDeltaSensor(task_id=name, delta=timedelta(seconds=60), deferrable=True)

with DAG("soak_deferred", schedule="@once", **SETTINGS):
    TimeDeltaSensor.partial(task_id="wait", deferrable=True).expand(
        delta=[timedelta(days=30 + n) for n in range(WAITING)]
    )

with DAG("soak_follow", schedule=[WRITTEN], **SETTINGS):
    work(1)

with DAG("soak_services", schedule=[WRITTEN], **SETTINGS):
    work.override(task_id="clean")(work.override(task_id="cluster")(1))
