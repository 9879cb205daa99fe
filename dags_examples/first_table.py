"""How do I load my files into a Hudi table, day by day, so that I can also backfill past days?

One run loads the Parquet files of one day, from a folder named by its date. This is the shortest DAG that can be
backfilled from the UI: the days can be loaded in any order, and only one run writes at a time.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable, Param

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)

with DAG(
    "first_table",
    description=__doc__,
    # Each run has the data interval of one day. With a plain cron string, data intervals would be empty.
    # In Airflow 3.1, import the timetable from airflow.timetables.interval.
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow treats it as UTC
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 5, "retry_delay": timedelta(minutes=1)},
    params={
        "landing": Param(
            f"{FOLDER}/landing/customers",
            type="string",
            minLength=1,
            title="Landing folder",
            description="Contains a folder for each day, such as 2026-01-31.",
        ),
        "on_pending_plan": Param(
            "give_way",
            type="string",
            enum=["refuse", "wait", "give_way"],
            title="If a plan is pending",
            description="What the load does if a clustering is planned for files that the load changes.",
        ),
    },
    tags=["hudi", "example"],
):
    UpsertWithSizingOperator(
        task_id="load",
        base_path=f"{TABLES}/customers",
        table_name="customers",
        source_path="{{ params.landing }}/{{ data_interval_start | ds }}",
        record_key="id",
        # The table keeps the newer version of a customer, even if days are loaded in a different order.
        ordering_field="updated_at",
        on_empty="skip",
        take_turns=True,
        on_pending_plan="{{ params.on_pending_plan }}",
        conf={"spark.ui.enabled": "false"},
    )
