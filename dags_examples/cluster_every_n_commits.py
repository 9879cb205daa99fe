"""How do I cluster a table after every N commits?

Two ways, of which you need one. Where Airflow itself loads the table, its asset starts a run after every load, and the
schedule says whether enough was committed; most runs end there, after a second and without Spark. Where others load
it, a sensor counts the commits on the timeline, in the triggerer and without a worker; a day without enough of them
ends in a skipped run.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, Param

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.operators.clustering import ExecuteClusteringOperator, ScheduleClusteringOperator
from airflow_hudi_provider.sensors.commit_count import HudiCommitCountSensor

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLE = f"{FOLDER}/flights"

COMMITS = Param(4, type="integer", minimum=1, title="Commits", description="Cluster after as many.")
OPTIONS = {
    # The table of the example flights_daily has tiny files; a real one does without these two.
    "hoodie.clustering.plan.strategy.target.file.max.bytes": 4 << 20,
    "hoodie.clustering.plan.strategy.small.file.limit": 3 << 20,
    # A plan whose execution failed for good goes after an hour, so that others can be made.
    "hoodie.clustering.enable.expirations": True,
}


def cluster() -> tuple[ScheduleClusteringOperator, ExecuteClusteringOperator]:
    """The plan is made in a second, in the worker; a retry of the execution goes on with the same plan."""
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
        # One at a time, in backfills too; another one would find its plan held.
        max_active_tis_per_dag=1,
        conf={"spark.ui.enabled": "false"},
    )
    return schedule, execute


with DAG(
    "cluster_every_n_commits",
    description=__doc__,
    # Any load with outlets=[HudiAsset(TABLE)].
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
    # Only a clustering sets the count back: with "@continuous" run would follow run where nothing is worth rewriting.
    schedule=timedelta(minutes=10),
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow takes it for UTC
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
