"""The Python blocks of the pages about reads, streams and incremental chains run, and return the rows of the pages."""

import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.reading.read_table import read_table
from support.fixed_clock import FixedClock
from support.spark.in_driver import DriverSession

sys.path.append(str(Path(__file__).parents[2] / "unit" / "docs"))

from doc_sources import blocks_in

BEFORE, AFTER = (datetime(2026, 1, 2, hour, tzinfo=timezone.utc) for hour in (1, 4))
"""The pages read the state of 03:04:05, and the changes since then."""

PAGES = ("docs/reading.md", "docs/streaming.md", "docs/incremental-chains.md")
BLOCKS = [
    block.text
    for place, block in blocks_in("python").items()
    if place.startswith(PAGES) and "from hudi_table_services." in block.text
]
TYPES = {"flight": pa.string(), "month": pa.string(), "delay": pa.float64(), "loaded_at": pa.int64()}


def write(lake: Path, at: datetime, rows: list[tuple[Any, ...]], operation: str = "upsert") -> None:
    session = DriverSession()
    request = UpsertRequest(
        base_path=str(lake / "flights"),
        table_name="flights",
        operation=operation,
        record_key=("flight",),
        partition_by=("month",),
        ordering_field="loaded_at",
        request_id=f"{operation} {at}",
    )
    columns = zip(*rows, strict=True)
    frame = pa.table({name: pa.array(c, TYPES[name]) for name, c in zip(TYPES, columns, strict=True)})
    upsert(session, request, session.frame(frame), clock=FixedClock(at))  # type: ignore[arg-type]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with the table of the pages."""
    lake = tmp_path / "lake"
    write(lake, BEFORE, [("A", "2026-01", 20.0, 1), ("B", "2026-01", 10.0, 1), ("C", "2025-12", 50.0, 1)])
    write(lake, AFTER, [("A", "2026-01", 30.0, 2), ("D", "2026-01", None, 2)])
    write(lake, AFTER.replace(minute=1), [("C", "2025-12", 50.0, 3)], "delete")
    return lake


def run(text: str, lake: Path) -> dict[str, Any]:
    """Run the only block that contains a text, with local paths instead of the paths of the page."""
    (block,) = (each for each in BLOCKS if text in each)
    for of_page, here in (("s3://lake", lake), ("s3a://lake", lake), ("/data", lake / "data")):
        block = block.replace(of_page, str(here))
    names: dict[str, Any] = {"__name__": "pasted"}
    exec(compile(block, text, "exec"), names)
    return names


def delays(frame: DataFrame) -> dict[str, float | None]:
    rows = [(row["flight"], row["delay"]) for row in frame.select("flight", "delay").collect()]
    assert len(rows) == len(dict(rows)), rows
    return dict(rows)


def stored(spark: SparkSession, lake: Path, name: str) -> Mapping[str, float | None]:
    return delays(spark.read.parquet(str(lake / "data" / name)))


def test_filters(spark: SparkSession, lake: Path) -> None:
    names = run("explain_read", lake)
    assert delays(names["flights"]) == {"A": 30.0}
    assert "which the filters name: 2026-01" in names["plan"]


@pytest.mark.thorough
def test_an_earlier_state_and_later_changes(spark: SparkSession, lake: Path) -> None:
    names = run("as.of.instant", lake)
    assert delays(names["yesterday"]) == {"A": 20.0, "B": 10.0, "C": 50.0}
    assert delays(names["changed"]) == {"A": 30.0, "D": None}


@pytest.mark.thorough
def test_a_window_and_the_begin_of_the_next_window(spark: SparkSession, lake: Path) -> None:
    names = run("open_read", lake)
    assert stored(spark, lake, "changed_flights") == {"A": 30.0, "D": None}
    assert names["changes"].until.startswith("202601020401")


def test_changes_with_deletes(spark: SparkSession, lake: Path) -> None:
    run("import read_changes", lake)
    assert stored(spark, lake, "changed_flights") == {"A": 30.0, "D": None}
    assert stored(spark, lake, "deleted_flights") == {"C": 50.0}


@pytest.mark.thorough
def test_the_data_source(spark: SparkSession, lake: Path) -> None:
    pytest.importorskip("pyspark.sql.datasource", reason="Spark 4 is the first release with data sources")
    names = run("CREATE TEMPORARY VIEW", lake)
    try:
        assert delays(names["flights"]) == {"A": 30.0, "B": 10.0, "D": None}
        assert delays(spark.table("flights")) == {"A": 30.0, "B": 10.0, "D": None}
    finally:
        spark.catalog.dropTempView("flights")


@pytest.mark.thorough
def test_a_stream(spark: SparkSession, lake: Path) -> None:
    pytest.importorskip("pyspark.sql.streaming.datasource", reason="limits of batches need Spark 4.2")
    run("readStream", lake)
    assert delays(read_table(spark, str(lake / "clean_flights"))) == {"A": 30.0, "B": 10.0}


@pytest.mark.thorough
def test_an_incremental_load(spark: SparkSession, lake: Path) -> None:
    names = run("import load_changes", lake)
    assert names["result"].rows.inserted == 3
    assert delays(read_table(spark, str(lake / "clean_flights"))) == {"A": 30.0, "B": 10.0, "D": None}
