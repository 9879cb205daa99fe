"""Rows whose keys a log file has deleted, beside compactions and writers that find keys in the record index."""

from pathlib import Path

import pytest

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import CommitConflictError
from hudi_table_services.storage.clock import SystemClock
from support.compaction.jobs_here import execute, schedule
from support.spark.indexed_log_tables import assert_indexes_equal_rows, new_indexed_table
from support.spark.log_tables import LogTable, Row
from support.spark.storage_with_other_writer import StorageWithOtherWriter

RECORD_INDEX = {"hoodie.index.type": "RECORD_INDEX"}
OLD: list[Row] = [("k0", 5, "a", "old", False), ("k1", 5, "a", "old", False)]
LATE_DELETE: list[Row] = [("k0", 7, "a", None, True)]
VERSIONS = pytest.mark.parametrize("version", [8, 9])


def delete(table: LogTable) -> None:
    table.write([("k0", 0, "a", None)], "delete", names=("k", "ts", "p", "v"))


def plan(table: LogTable) -> None:
    assert schedule(table.storage, SystemClock()).outcome is Outcome.COMPLETED


def compact(table: LogTable) -> None:
    assert execute(table.storage, SystemClock()).outcome is Outcome.COMPLETED


@VERSIONS
def test_a_late_row_waits_for_the_compaction_of_the_delete_against_which_it_loses(
    tmp_path: Path, version: int
) -> None:
    """The compaction removes the delete. Afterwards, readers would see the row, but the indexes would lack its key."""
    table = new_indexed_table(tmp_path / "t", version)
    table.write(OLD)
    table.write(LATE_DELETE)
    plan(table)
    late: list[Row] = [("k0", 6, "a", "late", False)]
    with pytest.raises(CommitConflictError, match=r"pending compaction \d+ completes"):
        table.write(late)
    compact(table)
    table.write(late)
    assert_indexes_equal_rows(table)
    table.write([("k0", 9, "a", "newest", False)], options=RECORD_INDEX)
    assert table.rows() == [("k0", 9, "a", "newest"), ("k1", 5, "a", "old")]
    assert_indexes_equal_rows(table)


@VERSIONS
def test_a_row_that_brings_the_base_row_back_waits_for_the_compaction(tmp_path: Path, version: int) -> None:
    """Without the compaction, the value in the secondary index is that of the base row."""
    table = new_indexed_table(tmp_path / "t", version)
    table.write(OLD)
    delete(table)
    plan(table)
    late: list[Row] = [("k0", 3, "a", "late", False)]
    with pytest.raises(CommitConflictError, match="pending compaction"):
        table.write(late)
    compact(table)
    table.write(late)
    assert table.rows() == [("k0", 3, "a", "late"), ("k1", 5, "a", "old")]
    assert_indexes_equal_rows(table)


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_row_that_wins_does_not_wait(tmp_path: Path, version: int) -> None:
    table = new_indexed_table(tmp_path / "t", version)
    table.write(OLD)
    delete(table)
    plan(table)
    table.write([("k0", 8, "a", "again", False)])
    if version > 6:  # in version 6, hudi-rs does not see rows of file groups with a pending compaction
        assert_indexes_equal_rows(table)
    compact(table)
    assert table.rows() == [("k0", 8, "a", "again"), ("k1", 5, "a", "old")]
    assert_indexes_equal_rows(table)


def test_in_version_6_a_late_delete_waits_for_the_compaction_of_the_row_against_which_it_loses(
    tmp_path: Path,
) -> None:
    """In version 6, a delete loses against a newer row of a log file, but not against the row of a base file."""
    table = new_indexed_table(tmp_path / "t", 6)
    table.write(OLD)
    table.write([("k0", 9, "a", "newer", False)])
    plan(table)
    with pytest.raises(CommitConflictError, match="pending compaction"):
        table.write(LATE_DELETE)
    compact(table)
    table.write(LATE_DELETE)
    compactable = table.slices()
    assert any(each.log_files for each in compactable)
    plan(table)
    compact(table)
    assert table.rows() == [("k1", 5, "a", "old")]
    assert_indexes_equal_rows(table)


@VERSIONS
@pytest.mark.parametrize(
    ("first", "second"), [({}, RECORD_INDEX), (RECORD_INDEX, {})], ids=["files first", "index first"]
)
def test_two_writers_that_look_up_keys_differently_insert_a_deleted_key_only_once(
    tmp_path: Path, version: int, first: dict[str, str], second: dict[str, str]
) -> None:
    """One writer searches files and adds the row to a log file. The other uses the index, where the key is missing."""
    table = new_indexed_table(tmp_path / "t", version)
    table.write(OLD)
    delete(table)
    meanwhile = StorageWithOtherWriter(
        table.storage, act=lambda: table.write([("k0", 9, "a", "first", False)], options=first)
    )
    table.write([("k0", 10, "a", "second", False)], options=second, storage=meanwhile)
    assert meanwhile.has_acted
    assert table.rows() == [("k0", 10, "a", "second"), ("k1", 5, "a", "old")]
    assert_indexes_equal_rows(table)


def test_an_inserted_row_of_a_deleted_key_counts_as_inserted(tmp_path: Path) -> None:
    table = new_indexed_table(tmp_path / "t", 9)
    table.write(OLD)
    delete(table)
    result = table.write([("k0", 9, "a", "again", False), ("k1", 9, "a", "new", False)])
    assert (result.rows.inserted, result.rows.updated) == (1, 1)


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_write_adds_statistics_of_a_new_partition_beside_rows_of_an_old_one(
    tmp_path: Path, version: int
) -> None:
    options = {"hoodie__metadata__index__column__stats__enable": "true"}
    table = new_indexed_table(tmp_path / "t", version, **options)
    table.write(OLD)
    table.write([("k0", 6, "a", "new", False), ("n", 6, "b", "new", False)])
    table.write([("k0", 7, "a", "newer", False), ("n", 7, "b", "newer", False), ("m", 7, "c", "new", False)])
    plan(table)
    compact(table)
    assert table.rows() == [
        ("k0", 7, "a", "newer"),
        ("k1", 5, "a", "old"),
        ("m", 7, "c", "new"),
        ("n", 7, "b", "newer"),
    ]
    assert_indexes_equal_rows(table)
