"""Column statistics of the metadata table exclude files from a lookup of keys, and the write has the same result."""

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.jobs.writing import searched_files
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.depth import cases
from support.spark.writing import Row, TableUnderTest

INDEXES = (
    "SIMPLE",
    pytest.param("BLOOM", marks=pytest.mark.thorough),
    pytest.param("GLOBAL_SIMPLE", marks=pytest.mark.thorough),
    pytest.param("GLOBAL_BLOOM", marks=pytest.mark.thorough),
)


@pytest.fixture(params=cases(["6", "9"], ["6"]))
def table(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> TableUnderTest:
    """Four files with 20 keys each, two in each partition, and their column statistics."""
    monkeypatch.setattr(searched_files, "MANY_FILES", 4)
    options = {"hoodie__write__table__version": request.param, "hoodie__parquet__small__file__limit": "0"}
    table = TableUnderTest(spark, tmp_path / "t", **options)
    table.write(rows_of(range(40)))
    table.write(rows_of(range(40, 80)))
    request_ = RebuildMetadataTableRequest(base_path=str(table.base_path), partitions=(COLUMN_STATS,))
    rebuild_metadata_table(request_)
    return table


def rows_of(numbers: range, ts: int = 1) -> list[Row]:
    """Even numbers are in the partition x, odd ones in y."""
    return [(f"key-{n:03d}", ts, "xy"[n % 2], float(n)) for n in numbers]


@pytest.mark.parametrize(("index", "searched"), [("SIMPLE", 2), ("BLOOM", 2), ("GLOBAL_SIMPLE", 2)])
def test_files_without_a_key_of_the_batch_are_not_opened(
    table: TableUnderTest, index: str, searched: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    result = table.write(rows_of(range(50, 60), ts=2), options={"hoodie.index.type": index})
    assert (result.rows.updated, result.rows.inserted) == (10, 0)
    assert f"Looked up 10 keys in {searched} base files (indexes and footers ruled out 2)" in caplog.text


@pytest.mark.parametrize("index", INDEXES)
def test_statistics_do_not_change_the_result(table: TableUnderTest, tmp_path: Path, index: str) -> None:
    other = table.copied_to(tmp_path / "other")
    without = {"hoodie.index.type": index, "hoodie.metadata.enable": "false"}
    rng = random.Random(index)
    for ts in (2, 3):
        numbers = sorted(rng.sample(range(100), 12))
        rows = [(f"key-{n:03d}", ts, rng.choice("xy"), rng.random()) for n in numbers]
        found = table.write(rows, options={"hoodie.index.type": index})
        assert found.rows == other.write(rows, options=without).rows
        assert table.rows() == other.rows()


def test_damaged_statistics_are_not_used(table: TableUnderTest, caplog: pytest.LogCaptureFixture) -> None:
    for path in (table.base_path / METADATA_TABLE / COLUMN_STATS).glob("*.hfile"):
        content = bytearray(path.read_bytes())
        content[60] ^= 0xFF
        path.write_bytes(content)
    result = table.write(rows_of(range(50, 60), ts=2), options={"hoodie.index.type": "SIMPLE"}, dry_run=True)
    assert result.rows.updated == 10
    assert "The column statistics of the metadata table are not used" in caplog.text
