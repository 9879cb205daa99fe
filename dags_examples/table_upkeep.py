"""How do I maintain a table while loads are running: cluster it, clean it, shorten its timeline, check its health?

No task blocks loads. Cleaning follows clustering, and deletes files that the clusterings of earlier runs replaced.
Cleaning keeps the files that this run's clustering replaced, because running queries may read them.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG

from airflow_hudi_provider.operators.archive import ArchiveOperator
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.clustering import ClusteringOperator
from airflow_hudi_provider.operators.health import HudiTableHealthOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)
TABLE = f"{TABLES}/flights"

with DAG(
    "table_upkeep",
    description=__doc__,
    schedule=timedelta(hours=1),
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow treats it as UTC
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
    tags=["hudi", "example"],
):
    # For a merge-on-read table, put a task with CompactionOperator before this task.
    cluster = ClusteringOperator(
        task_id="cluster",
        base_path=TABLE,
        every_n_commits=4,
        when_held="wait",
        conf={"spark.ui.enabled": "false"},
    )

    # Clean even if the clustering was skipped because there were too few commits.
    clean = CleanOperator(
        task_id="clean",
        base_path=TABLE,
        hours_retained=24,
        # Cleaning keeps the files that a query of up to two hours may still read.
        hudi_options={"hoodie.airflow.clean.floor.hours": 2},
        trigger_rule="none_failed",
    )

    # Archival keeps commits that are not cleaned yet, so it runs after cleaning.
    archive = ArchiveOperator(
        task_id="archive",
        base_path=TABLE,
        # The clean task retains commits by age in hours. Without this key, archival would assume that cleaning retains
        # ten commits.
        hudi_options={"hoodie.clean.policy": "KEEP_LATEST_BY_HOURS"},
        trigger_rule="none_failed",
    )

    # This task runs even if the tasks before it failed. It fails if a measure is above its limit. If it fails, check
    # the table. Airflow takes the state of a run from its last tasks. The health task does not wait for the archival,
    # so both are last tasks, and a run fails if any of its tasks fails.
    health = HudiTableHealthOperator(
        task_id="health",
        base_path=TABLE,
        fail_above={"oldest_pending_hours": 12, "commits_to_clean": 200},
        trigger_rule="all_done",
    )

    cluster >> clean >> [archive, health]
