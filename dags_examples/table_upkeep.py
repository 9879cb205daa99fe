"""How do I keep a table in shape beside its loads: cluster it, clean it, keep its timeline short, see how it is?

Neither task is in the way of loads. Cleaning comes last, so that it also takes the files that clusterings of earlier
runs replaced; those of this run stay for readers that are still at them.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG

from airflow_hudi_provider.operators.archive import ArchiveOperator
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.clustering import ClusteringOperator
from airflow_hudi_provider.operators.health import HudiTableHealthOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLE = f"{FOLDER}/flights"

with DAG(
    "table_upkeep",
    description=__doc__,
    schedule=timedelta(hours=1),
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow takes it for UTC
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
    tags=["hudi", "example"],
):
    cluster = ClusteringOperator(
        task_id="cluster",
        base_path=TABLE,
        every_n_commits=4,
        when_held="wait",
        conf={"spark.ui.enabled": "false"},
    )

    # Too few commits to cluster is no reason not to clean.
    clean = CleanOperator(
        task_id="clean",
        base_path=TABLE,
        hours_retained=24,
        # What a query may still read that began so long ago.
        hudi_options={"hoodie.airflow.clean.floor.hours": 2},
        trigger_rule="none_failed",
    )

    # What is not cleaned yet stays on the timeline, so this comes after cleaning.
    archive = ArchiveOperator(
        task_id="archive",
        base_path=TABLE,
        # Cleaning goes by hours here; without this key archival would reckon with ten commits.
        hudi_options={"hoodie.clean.policy": "KEEP_LATEST_BY_HOURS"},
        trigger_rule="none_failed",
    )

    # Whatever became of the others; a limit that is exceeded is for somebody to look at.
    health = HudiTableHealthOperator(
        task_id="health",
        base_path=TABLE,
        fail_above={"oldest_pending_hours": 12, "commits_to_clean": 200},
        trigger_rule="all_done",
    )

    cluster >> clean >> archive >> health
