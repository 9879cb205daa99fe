"""Create tables with many commits, and clean them with each system."""

import time
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from bench.scenarios import KEY_COLUMNS, SHIP_YEAR, Cleaning, System

_TABLE_NAME = "lineitem"


def create_commits(
    spark: SparkSession, source: Path, table: Path, cleaning: Cleaning, options: Mapping[str, str]
) -> None:
    """Write the same rows repeatedly with real Hudi; each commit after the first rewrites every file."""
    settings = {
        "hoodie.table.name": _TABLE_NAME,
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.recordkey.field": ",".join(KEY_COLUMNS),
        "hoodie.datasource.write.partitionpath.field": SHIP_YEAR,
        "hoodie.metadata.enable": "false",
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
        **options,
    }
    rows = spark.read.parquet(str(source)).coalesce(1).cache()
    for _ in range(cleaning.commits + 1):
        rows.write.format("hudi").options(**settings).mode("append").save(str(table))


def clean_table(system: System, spark: SparkSession, table: Path, options: Mapping[str, str]) -> float:
    """Clean the table so that it retains only its last commit; return the duration in seconds."""
    settings = {"hoodie.metadata.enable": "false", **options}
    if system is System.HUDI:
        # The procedure needs a table name. Registering the table is not part of cleaning, so it is not measured.
        name = f"{table.parent.name}_{table.name}".replace("-", "_").replace(".", "_")
        spark.sql(f"CREATE TABLE IF NOT EXISTS `{name}` USING hudi LOCATION '{table}'")
        started = time.perf_counter()
        call = f"table => '{name}', clean_policy => 'KEEP_LATEST_COMMITS', retain_commits => 1"
        given = ",".join(f"{key}={value}" for key, value in settings.items())
        spark.sql(f"CALL run_clean({call}, options => '{given}')").collect()
    else:
        started = time.perf_counter()
        _with_engine(table, settings)
    return time.perf_counter() - started


def _with_engine(table: Path, settings: Mapping[str, str]) -> None:
    from hudi_table_services.contract.cleaning import CleanRequest
    from hudi_table_services.jobs.cleaning.clean import clean

    options = {**settings, "hoodie.airflow.clean.floor.hours": "0"}
    clean(CleanRequest(base_path=str(table), commits_retained=1, options=options))
