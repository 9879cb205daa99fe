"""A clustering of file slices with log files keeps the record index and secondary indexes correct."""

from pathlib import Path

import pytest

from hudi_table_services.contract.result import Outcome
from hudi_table_services.storage.clock import SystemClock
from support.spark.indexed_log_tables import assert_indexes_equal_rows, new_indexed_table
from support.spark.log_tables import LogTable, Row
from support.with_logs.clusterings_here import execute, schedule

NO_PADDING = {"hoodie.parquet.small.file.limit": "0"}
VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])


def rows(numbers: range, value: str, ts: int = 5) -> list[Row]:
    return [(f"k{i}", ts, "ab"[i % 2], value, False) for i in numbers]


def a_table_with_logs(path: Path, version: int, *, is_partitioned: bool = False) -> LogTable:
    """Two file groups in each partition, all with log files: updates, deletes, and a row that was inserted again."""
    table = new_indexed_table(path, version, is_partitioned=is_partitioned)
    table.write(rows(range(6), "old"))
    table.write(rows(range(6, 12), "old"), options=NO_PADDING)
    table.write(rows(range(0, 12, 3), "new", 6))
    table.write([("k0", 0, "a", None), ("k7", 0, "b", None)], "delete", names=("k", "ts", "p", "v"))
    table.write([("k0", 9, "a", "again", False)])
    return table


def cluster(table: LogTable) -> None:
    assert schedule(table.storage, SystemClock()).outcome is Outcome.COMPLETED
    assert execute(table.storage, SystemClock()).outcome is Outcome.COMPLETED


@VERSIONS
@pytest.mark.thorough
def test_the_indexes_equal_the_rows_after_a_clustering(tmp_path: Path, version: int) -> None:
    table = a_table_with_logs(tmp_path / "t", version)
    before = {s.file_group_id for s in table.slices()}
    cluster(table)
    assert before.isdisjoint(s.file_group_id for s in table.slices())
    assert_indexes_equal_rows(table)
    # Writes find the keys in their new file groups.
    result = table.write(rows(range(5), "newest", 12), options={"hoodie.index.type": "RECORD_INDEX"})
    assert (result.rows.inserted, result.rows.updated) == (0, 5)
    assert_indexes_equal_rows(table)


def test_a_record_index_for_each_partition_equals_the_rows_after_a_clustering(tmp_path: Path) -> None:
    table = a_table_with_logs(tmp_path / "t", 9, is_partitioned=True)
    cluster(table)
    assert_indexes_equal_rows(table)
