"""How do I put the rows of a table in order every night, so that readers who filter by some columns read less?

One task plans and rewrites. It tells in its log how much a reader who looks for one carrier or one destination reads
now, and how much before.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, task

from airflow_hudi_provider.operators.clustering import CancelClusteringOperator, ClusteringOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLE = f"{FOLDER}/flights"

with DAG(
    "cluster_nightly_zorder",
    description=__doc__,
    schedule="0 3 * * *",
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow takes it for UTC
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
    tags=["hudi", "example"],
):
    # Plans that some other day's job left behind and that nobody works on; none is the usual case.
    tidy_up = CancelClusteringOperator(
        task_id="tidy_up", base_path=TABLE, older_than_minutes=24 * 60, on_nothing="succeed"
    )

    cluster = ClusteringOperator(
        task_id="cluster",
        base_path=TABLE,
        sort_columns=["carrier", "dest"],
        layout="zorder",
        hudi_options={
            # The newest partitions, whatever a partition is: here twelve months. Older ones are in order by now. Where
            # the newest one is being loaded all day, …daybased.skipfromlatest.partitions=1 leaves it alone.
            "hoodie.clustering.plan.partition.filter.mode": "RECENT_DAYS",
            "hoodie.clustering.plan.strategy.daybased.lookback.partitions": 12,
            # A plan of few groups loses little where a load changes the same files meanwhile.
            "hoodie.airflow.clustering.groups.per.plan": 4,
        },
        when_held="wait",
        conf={"spark.ui.enabled": "false"},
    )

    @task
    def tell(answer: dict) -> None:
        """What the night was good for; a retry that found the clustering completed has no figures any more."""
        if answer["reused"]:
            print(answer["reason"])
            return
        print(f"{answer['files_in']} files became {answer['files_out']}")
        for plan in answer["plans"]:
            for column in plan["skipping"]:
                print(f"{column['column']}: {column['before']:.0%} read before, {column['after']:.0%} now")

    tidy_up >> cluster
    tell(cluster.output)
