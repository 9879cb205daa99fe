"""Tasks read Parquet files with Arrow, and the table gets the rows that it would get from Spark's reader."""

import datetime
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.jobs.writing.upsert import upsert
from judges.hudi_rs import read_snapshot

LOGGER = "hudi_table_services.execution.writing.stage_input"
MOMENT = datetime.datetime(2026, 3, 29, 1, 30, 0, 123456, datetime.timezone.utc)
ROWS = pa.table(
    {
        "id": pa.array(range(6), pa.int64()),
        "part": pa.array(["a", "b", "a", "b", "a", "b"]).dictionary_encode(),
        "flag": [True, None, False, True, False, None],
        "tiny": pa.array([1, -2, None, 127, -128, 0], pa.int8()),
        "small": pa.array([1, 2, 3, None, -5, 6], pa.int16()),
        "number": pa.array([1, None, 3, 4, 5, 6], pa.int32()),
        "ratio": pa.array([0.5, float("nan"), None, -0.0, 1e38, 2.0], pa.float32()),
        "double": [0.1, None, float("inf"), 4.0, 5.0, 6.0],
        "text": pa.array(["", "ä", None, "x" * 300, "5", "6"], pa.large_string()),
        "raw": pa.array([b"\x00", None, b"", b"\xff", b"5", b"6"], pa.binary()),
        "day": pa.array([datetime.date(1969, 12, 31), None, *([datetime.date(2026, 2, 1)] * 4)]),
        "at": pa.array([MOMENT, None, *([MOMENT] * 4)], pa.timestamp("ms", "UTC")),
        "amount": pa.array([Decimal("1.50"), None, *([Decimal("-99999999.99")] * 4)], pa.decimal128(10, 2)),
        "tags": pa.array([["x"], [], None, ["y", "z"], ["5"], ["6"]], pa.list_(pa.string())),
        "person": pa.array(
            [{"name": "n", "age": 5}, None, *([{"name": None, "age": None}] * 4)],
            pa.struct({"name": pa.string(), "age": pa.int32()}),
        ),
        "counts": pa.array([[("a", 1)], [], None, [("b", None)], [], []], pa.map_(pa.string(), pa.int64())),
    }
)


def write(spark: SparkSession, folder: Path, source: SourceSpec, **fields: Any) -> list[dict[str, Any]]:
    known = {"table_name": "t", "record_key": ("id",), "partition_by": ("part",), **fields}
    upsert(spark, UpsertRequest(base_path=str(folder), source=source, **known))
    rows = read_snapshot(folder).to_pylist()
    return sorted(rows, key=lambda row: row["id"])


def reader_in(caplog: pytest.LogCaptureFixture) -> str:
    """The last message about the reader of the source."""
    said = [r.getMessage() for r in caplog.records if r.name == LOGGER and " read" in r.getMessage()]
    caplog.clear()
    return said[-1]


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, LOGGER)
    return caplog


def test_arrow_and_spark_give_the_same_rows(
    spark: SparkSession, tmp_path: Path, messages: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(ROWS.slice(0, 4), tmp_path / "in" / "a.parquet", row_group_size=2)
    pq.write_table(ROWS.slice(4), tmp_path / "in" / "b c.parquet")
    path = str(tmp_path / "in")
    by_arrow = write(spark, tmp_path / "arrow", SourceSpec(path=path))
    assert reader_in(messages) == "The tasks read the source with Arrow: 2 files"
    by_spark = write(spark, tmp_path / "spark", SourceSpec(path=path, options={"mergeSchema": "true"}))
    assert reader_in(messages) == "Spark reads the source: the request has options of the reader."
    assert repr(by_arrow) == repr(by_spark)  # as text, because NaN is not equal to NaN
    assert [row["id"] for row in by_arrow] == list(range(6))


def partitioned(folder: Path) -> SourceSpec:
    pq.write_to_dataset(ROWS.select(["id", "part", "text"]), folder / "in", partition_cols=["part"])
    return SourceSpec(path=str(folder / "in"))


def with_query(folder: Path) -> SourceSpec:
    pq.write_table(ROWS, folder / "in.parquet")
    return SourceSpec(path=str(folder / "in.parquet"), sql="SELECT id, part FROM source")


def with_another_type(folder: Path) -> SourceSpec:
    """Two files, whose ids have the types int32 and int8. Spark reads all ids as integers."""
    rows = ROWS.select(["id", "part"])
    (folder / "in").mkdir()
    for name, part, kind in (("a", rows.slice(0, 3), pa.int32()), ("b", rows.slice(3), pa.int8())):
        typed = part.set_column(0, "id", part["id"].cast(kind))
        pq.write_table(typed, folder / "in" / f"{name}.parquet")
    return SourceSpec(path=str(folder / "in"))


def with_another_case(folder: Path) -> SourceSpec:
    (folder / "in").mkdir()
    pq.write_table(ROWS.select(["id", "part"]).slice(0, 3), folder / "in" / "a.parquet")
    others = ROWS.select(["id", "part"]).slice(3)
    pq.write_table(others.rename_columns(["ID", "part"]), folder / "in" / "b.parquet")
    return SourceSpec(path=str(folder / "in"))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (partitioned, "names of folders contain values of columns"),
        (with_query, "the request has a query on the source"),
        (with_another_type, "the column 'id' has the type int8, not integer"),
        (with_another_case, "the column 'ID' differs only in case from another name"),
    ],
)
def test_spark_reads_all_other_sources(
    spark: SparkSession, tmp_path: Path, messages: pytest.LogCaptureFixture, make: Any, reason: str
) -> None:
    found = write(spark, tmp_path / "t", make(tmp_path))
    assert reader_in(messages).startswith(f"Spark reads the source: {reason}")
    assert [(row["id"], row["part"]) for row in found] == [(n, "ab"[n % 2]) for n in range(6)]
    assert not list((tmp_path / "t" / ".hoodie").rglob("*.arrow")), "staged files remain"


def test_a_damaged_file_is_an_error_and_creates_no_table(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(ROWS, path)
    content = path.read_bytes()
    path.write_bytes(b"PAR1" + b"\xff" * 300 + content[304:])
    with pytest.raises(HudiTableServiceError):
        write(spark, tmp_path / "t", SourceSpec(path=str(path)))
    assert not (tmp_path / "t").exists()
