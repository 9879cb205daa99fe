"""How do I write files of mine into a Hudi table, day by day, so that days of the past can be filled in, too?

One run loads the Parquet files of one day, from a folder that is called by its date. The shortest DAG that can be
backfilled from the UI: days may come in any order, and at most one of them writes at a time.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable, Param

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default

with DAG(
    "first_table",
    description=__doc__,
    # Intervals of a day; a plain cron text would give empty ones. (Airflow 3.1: from airflow.timetables.interval)
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow takes it for UTC
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 5, "retry_delay": timedelta(minutes=1)},
    params={
        "landing": Param(
            f"{FOLDER}/landing/customers",
            type="string",
            minLength=1,
            title="Landing folder",
            description="It has a folder for each day, such as 2026-01-31.",
        ),
        "on_pending_plan": Param(
            "give_way",
            type="string",
            enum=["refuse", "wait", "give_way"],
            title="A plan is pending",
            description="What a clustering that is planned for the same files means for the load.",
        ),
    },
    tags=["hudi", "example"],
):
    UpsertWithSizingOperator(
        task_id="load",
        base_path=f"{FOLDER}/customers",
        table_name="customers",
        source_path="{{ params.landing }}/{{ data_interval_start | ds }}",
        record_key="id",
        # Of two versions of a customer the newer one stays, whichever day is loaded last.
        ordering_field="updated_at",
        on_empty="skip",
        take_turns=True,
        on_pending_plan="{{ params.on_pending_plan }}",
        conf={"spark.ui.enabled": "false"},
    )
