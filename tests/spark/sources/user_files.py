"""Write the rows of a file as a user does, and read the table back with hudi-rs."""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.jobs.writing.upsert import upsert
from judges.hudi_rs import read_snapshot


def write(spark: SparkSession, folder: Path, source: SourceSpec, **fields: Any) -> JobResult:
    known = {"table_name": "t", "record_key": ("id",), **fields}
    return upsert(spark, UpsertRequest(base_path=str(folder / "t"), source=source, **known))


def csv(folder: Path, text: str, **options: str) -> SourceSpec:
    (folder / "rows.csv").write_text(text)
    return SourceSpec(path=str(folder / "rows.csv"), format="csv", options={"header": "true", **options})


def stored(folder: Path, *names: str) -> list[tuple[Any, ...]]:
    rows = read_snapshot(folder / "t").to_pylist()
    return sorted(tuple(row[name] for name in names) for row in rows)
