"""Loads of Parquet files from pandas or pyarrow that contain timestamps without a time zone."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.writing.upsert import upsert
from judges.hudi_rs import read_snapshot

NOON = datetime.datetime(2026, 7, 1, 12, 0, 0, 5)
REPEATED = datetime.datetime(2026, 11, 1, 1, 30)
"""A time that the clocks of New York show twice. In UTC, it occurs once."""
ZONE = "America/New_York"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    inner = pa.struct([("at", pa.timestamp("us"))])
    columns = {
        "k": pa.array(["a", "b", "c"]),
        "at": pa.array([NOON, REPEATED, None], pa.timestamp("us")),
        "inner": pa.array([{"at": NOON}, {"at": None}, None], inner),
        "times": pa.array([[NOON, REPEATED], [], None], pa.list_(pa.timestamp("us"))),
    }
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.fixture
def in_new_york(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", str(before))


def write(spark: SparkSession, source: Path, version: str, choice: str = "", **fields: Any) -> JobResult:
    request = UpsertRequest(
        base_path=str(source.parent / "t"),
        table_name="t",
        source=SourceSpec(path=str(source)),
        record_key=("k",),
        timestamps_without_zone=choice,
        options={"hoodie.write.table.version": version},
        **fields,
    )
    return upsert(spark, request)


def stored(source: Path) -> list[dict[str, Any]]:
    rows = read_snapshot(source.parent / "t").to_pylist()
    return sorted(
        ({name: row[name] for name in ("k", "at", "inner", "times")} for row in rows),
        key=lambda row: row["k"],
    )


def utc(moment: datetime.datetime) -> datetime.datetime:
    return moment.replace(tzinfo=datetime.timezone.utc)


def rows_with(noon: datetime.datetime, repeated: datetime.datetime) -> list[dict[str, Any]]:
    return [
        {"k": "a", "at": noon, "inner": {"at": noon}, "times": [noon, repeated]},
        {"k": "b", "at": repeated, "inner": {"at": None}, "times": []},
        {"k": "c", "at": None, "inner": None, "times": None},
    ]


@pytest.mark.parametrize(("version", "choice"), [("6", ""), ("9", "utc")])
def test_values_become_times_in_utc_in_any_session(
    in_new_york: SparkSession, source: Path, version: str, choice: str
) -> None:
    for _ in range(2):  # the second write finds the columns in the table
        result = write(in_new_york, source, version, choice)
        assert stored(source) == rows_with(utc(NOON), utc(REPEATED))
        named = [each for each in result.warnings if "at, inner.at, times" in each]
        assert len(named) == (0 if choice else 1)
        assert all("--timestamps-without-zone" in each for each in named)


def test_values_become_times_in_the_time_zone_of_the_session(in_new_york: SparkSession, source: Path) -> None:
    assert write(in_new_york, source, "6", "session").warnings == ()
    noon = utc(NOON) + datetime.timedelta(hours=4)
    assert stored(source) == rows_with(noon, utc(REPEATED) + datetime.timedelta(hours=4))


def test_an_upsert_finds_rows_by_a_key_that_is_a_timestamp(in_new_york: SparkSession, source: Path) -> None:
    def write_by_time(**fields: Any) -> JobResult:
        request = UpsertRequest(
            base_path=str(source.parent / "t"),
            table_name="t",
            source=SourceSpec(path=str(source), sql="SELECT * FROM source WHERE at IS NOT NULL"),
            record_key=("at",),
            **fields,
        )
        return upsert(in_new_york, request)

    write_by_time()
    assert write_by_time().rows.updated == 2
    with pytest.raises(InvalidRequestError, match="time zone of the keys is not known"):
        write_by_time(operation="delete", timestamps_without_zone="refuse")
    assert write_by_time(operation="delete").rows.deleted == 2


def test_a_refused_write_names_the_column_and_the_option_and_writes_nothing(
    spark: SparkSession, source: Path
) -> None:
    with pytest.raises(InvalidRequestError, match="'at' is a timestamp without zone") as caught:
        write(spark, source, "6", "refuse")
    assert "--timestamps-without-zone=utc" in caught.value.hint
    assert not (source.parent / "t").exists()


def test_later_versions_store_the_values_without_time_zone(spark: SparkSession, source: Path) -> None:
    result = write(spark, source, "9")
    (warning,) = result.warnings
    assert "cannot read the columns at, inner.at, times of the new table" in warning
    (file,) = (source.parent / "t").glob("*.parquet")
    assert pq.read_schema(file).field("at").type == pa.timestamp("us")
    assert write(spark, source, "9", "utc").rows.updated == 3
    (newest,) = set((source.parent / "t").glob("*.parquet")) - {file}
    assert pq.read_table(newest).column("at").to_pylist() == [NOON, REPEATED, None]
