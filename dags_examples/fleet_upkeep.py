"""How do I maintain many tables with few worker slots, starting with the tables that benefit most?

A task measures and ranks all tables, and mapped tasks process the first few. The remaining tables rank higher in later
runs, because their need grows. If a table cannot be read, the ranking task logs the error and continues with the other
tables.
"""

import json
import os
from datetime import datetime, timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, task

from airflow_hudi_provider.fleet import rank_tables
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.clustering import ClusteringOperator
from airflow_hudi_provider.operators.compaction import CompactionOperator

# If this list is empty, the tables in the setting [hudi] tables are used. An entry locates a table; all its other keys
# are passed to the operators as arguments.
TABLES: list[dict[str, Any]] = json.loads(os.environ.get("HUDI_FLEET", "[]"))
COMPACTIONS_PER_RUN = 3
CLUSTERINGS_PER_RUN = 3
CLEANS_PER_RUN = 20


@task
def most_in_need(service: str, quota: int) -> list[dict[str, Any]]:
    """Return the tables that benefit most, as arguments for an operator."""
    return rank_tables(TABLES or None, service=service, quota=quota)


with DAG(
    "fleet_upkeep",
    description=__doc__,
    schedule=timedelta(hours=6),
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow treats it as UTC
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=5)},
    tags=["hudi", "example"],
):
    # Only merge-on-read tables have log files to compact. The ranking has already decided that a compaction is
    # worthwhile, so the task compacts the table even if Hudi's trigger would still wait.
    compact = CompactionOperator.partial(
        task_id="compact",
        map_index_template="{{ task.table_name }}",
        max_active_tis_per_dagrun=1,
        ignore_trigger=True,
        when_held="wait",
        conf={"spark.ui.enabled": "false"},
    ).expand_kwargs(most_in_need.override(task_id="worst_to_compact")("compaction", COMPACTIONS_PER_RUN))

    # Cluster even if a compaction failed, because the clustering leaves out file groups of pending compactions.
    to_cluster = most_in_need.override(task_id="worst_to_cluster", trigger_rule="all_done")(
        "clustering", CLUSTERINGS_PER_RUN
    )
    cluster = ClusteringOperator.partial(
        task_id="cluster",
        map_index_template="{{ task.table_name }}",
        max_active_tis_per_dagrun=1,
        when_held="wait",
        conf={"spark.ui.enabled": "false"},
    ).expand_kwargs(to_cluster)

    # Clean even if a clustering failed, because cleaning does not depend on the clustering.
    to_clean = most_in_need.override(task_id="worst_to_clean", trigger_rule="all_done")(
        "cleaning", CLEANS_PER_RUN
    )
    clean = CleanOperator.partial(
        task_id="clean",
        map_index_template="{{ task.table_name }}",
        max_active_tis_per_dagrun=4,
    ).expand_kwargs(to_clean)

    compact >> to_cluster
    cluster >> to_clean

    # Airflow takes the state of a run from its last tasks. Without this task, a run succeeds although a compaction or a
    # clustering failed.
    @task(trigger_rule="one_failed", retries=0)
    def report_failure() -> None:
        """Fail, so that the run fails."""
        raise AirflowFailException("A task of this run failed.")

    [compact, cluster, clean] >> report_failure()
