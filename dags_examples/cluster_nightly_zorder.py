"""How do I sort a table every night, so that queries that filter by some columns read less?

One task plans and executes the clustering. The last task logs the share of the table that a query for one carrier or
one destination reads: the share before the clustering, and the share after the clustering.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, task

from airflow_hudi_provider.operators.clustering import CancelClusteringOperator, ClusteringOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)
TABLE = f"{TABLES}/flights"

with DAG(
    "cluster_nightly_zorder",
    description=__doc__,
    schedule="0 3 * * *",
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow treats it as UTC
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
    tags=["hudi", "example"],
):
    # Cancel old plans that no job executes. Usually there are none.
    tidy_up = CancelClusteringOperator(
        task_id="tidy_up", base_path=TABLE, older_than_minutes=24 * 60, on_nothing="succeed"
    )

    cluster = ClusteringOperator(
        task_id="cluster",
        base_path=TABLE,
        sort_columns=["carrier", "dest"],
        layout="zorder",
        hudi_options={
            # Cluster the newest twelve partitions, here twelve months. Older partitions are already sorted. If the
            # newest partition is loaded all day, exclude it with …daybased.skipfromlatest.partitions=1.
            "hoodie.clustering.plan.partition.filter.mode": "RECENT_DAYS",
            "hoodie.clustering.plan.strategy.daybased.lookback.partitions": 12,
            # If a plan has few groups, little work is lost when a load changes the same files during the clustering.
            "hoodie.airflow.clustering.groups.per.plan": 4,
        },
        when_held="wait",
        conf={"spark.ui.enabled": "false"},
    )

    @task
    def report(answer: dict) -> None:
        """Log the changes. If an earlier try completed the clustering, there are no figures to log."""
        if answer["reused"]:
            print(answer["reason"])
            return
        print(f"{answer['files_in']} files became {answer['files_out']}")
        for plan in answer["plans"]:
            for column in plan["skipping"]:
                print(f"{column['column']}: {column['before']:.0%} read before, {column['after']:.0%} now")

    tidy_up >> cluster
    report(cluster.output)
