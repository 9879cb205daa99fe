"""How do I cluster a table after every N commits?

Choose one of the two DAGs. If Airflow loads the table, use the first DAG: the table's asset starts a run after every
load, and the task that schedules the clustering counts the commits. Most runs end with this task, which takes a second
and needs no Spark. If other systems load the table, use the second DAG: a sensor in the triggerer counts the commits on
the timeline and needs no worker slot. If there are too few commits within a day, the run is skipped.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, Param

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.operators.clustering import ExecuteClusteringOperator, ScheduleClusteringOperator
from airflow_hudi_provider.sensors.commit_count import HudiCommitCountSensor

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)
TABLE = f"{TABLES}/flights"

COMMITS = Param(
    4, type="integer", minimum=1, title="Commits", description="Cluster after this number of commits."
)
OPTIONS = {
    # The table of the example flights_daily has tiny files; a real table does not need these two keys.
    "hoodie.clustering.plan.strategy.target.file.max.bytes": 4 << 20,
    "hoodie.clustering.plan.strategy.small.file.limit": 3 << 20,
    # If all tries to execute a plan fail, the plan expires after an hour, so that new plans can be made.
    "hoodie.clustering.enable.expirations": True,
}


def cluster() -> tuple[ScheduleClusteringOperator, ExecuteClusteringOperator]:
    """Plan in the worker, in about a second, and execute on Spark. A retry of the execution uses the same plan."""
    schedule = ScheduleClusteringOperator(
        task_id="schedule",
        base_path=TABLE,
        every_n_commits="{{ params.commits }}",
        sort_columns=["origin", "dest"],
        layout="zorder",
        hudi_options=OPTIONS,
        on_nothing="skip",
    )
    execute = ExecuteClusteringOperator(
        task_id="execute",
        base_path=TABLE,
        instant=schedule.output,
        # Run one execution at a time, even in backfills. A second execution of the same plan would fail.
        max_active_tis_per_dag=1,
        conf={"spark.ui.enabled": "false"},
    )
    return schedule, execute


with DAG(
    "cluster_every_n_commits",
    description=__doc__,
    # This DAG runs after any load of this table in Airflow, because each load declares its table as an outlet.
    schedule=[HudiAsset(TABLE)],
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1)},
    params={"commits": COMMITS},
    tags=["hudi", "example"],
):
    cluster()

with DAG(
    "cluster_what_others_write",
    description=__doc__,
    # Only a clustering resets the count. If there is nothing to cluster, runs with "@continuous" would repeat without
    # a pause.
    schedule=timedelta(minutes=10),
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow treats it as UTC
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1)},
    params={"commits": COMMITS},
    tags=["hudi", "example"],
):
    wait = HudiCommitCountSensor(
        task_id="wait",
        base_path=TABLE,
        every_n_commits="{{ params.commits }}",
        deferrable=True,
        poke_interval=60,
        timeout=24 * 3600,
        soft_fail=True,
    )
    wait >> cluster()[0]
