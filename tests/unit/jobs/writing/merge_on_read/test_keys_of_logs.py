"""Writes find keys that are only in log files: new keys of other writers, and file groups without a base file."""

from pathlib import Path

import pytest

from hudi_table_services.errors import FileGroupConflictError, InvalidDataError
from support.faulty_storage import FaultyStorage
from support.spark.log_tables import LogTable, Row, foreign_log, new_log_table

OLD: list[Row] = [(f"k{i}", 1, "ab"[i % 2], "old") for i in range(4)]
NEW_GROUP = "11111111-2222-3333-4444-555555555555-0"


@pytest.fixture(params=["SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> LogTable:
    """A commit-time table. `l` is only in a log file of a slice with a base file, `g` in a slice of log files only."""
    made = new_log_table(tmp_path / "t", hoodie__index__type=request.param)
    made.ordering_field = ""
    made.write(OLD)
    foreign_log(made, "a", made.slice_of("a").file_group_id.file_id, [("l", 1, "a", "log")])
    foreign_log(made, "b", NEW_GROUP, [("g", 1, "b", "log")])
    assert made.rows() == sorted([*OLD, ("l", 1, "a", "log"), ("g", 1, "b", "log")])
    return made


def test_an_update_of_a_key_that_is_only_in_a_log_file_goes_to_its_slice(table: LogTable) -> None:
    changed = [("l", 2, "a", "new"), ("g", 2, "b", "new"), ("k0", 2, "a", "new"), ("n", 2, "a", "inserted")]
    result = table.write(changed)
    assert (result.rows.updated, result.rows.inserted) == (3, 1)
    assert table.rows() == sorted([*changed, *OLD[1:]])


def test_a_key_that_is_only_in_a_log_file_can_be_deleted(table: LogTable) -> None:
    result = table.write([("l", 2, "a", None), ("g", 2, "b", None)], "delete")
    assert (result.rows.deleted, result.rows.unmatched_deletes) == (2, 0)
    assert table.rows() == OLD


def test_a_deleted_key_is_inserted_again_into_the_slice_of_its_base_file(table: LogTable) -> None:
    table.write([("k0", 0, "a", None)], "delete")
    groups = {s.file_group_id for s in table.slices()}
    # In another file group, Hudi's next update of the key would find the key in two file groups.
    result = table.write([("k0", 1, "a", "again")])
    assert {s.file_group_id for s in table.slices()} == groups
    assert (result.rows.inserted, result.rows.updated) == (1, 0)
    assert ("k0", 1, "a", "again") in table.rows()


def test_a_deleted_key_of_a_log_file_is_inserted_again_into_a_base_file(table: LogTable) -> None:
    table.write([("l", 0, "a", None)], "delete")
    result = table.write([("l", 1, "a", "again")])
    # Hudi's next update of the key must find the key, and it does not look into log files.
    assert (result.rows.inserted, result.rows.updated) == (1, 0)
    assert [row for row in table.rows() if row[0] == "l"] == [("l", 1, "a", "again")]
    assert table.write([("l", 2, "a", "changed")]).rows.updated == 1
    assert [row for row in table.rows() if row[0] == "l"] == [("l", 2, "a", "changed")]


def test_an_update_goes_only_to_the_row_that_exists_if_the_key_was_deleted_and_inserted(
    table: LogTable,
) -> None:
    table.write([("k0", 0, "a", None)], "delete")
    table.write([("k0", 1, "a", "inserted")], "insert")
    assert table.write([("k0", 2, "a", "changed")]).rows.updated == 1
    assert [row for row in table.rows() if row[0] == "k0"] == [("k0", 2, "a", "changed")]


def test_an_insert_that_drops_existing_keys_adds_keys_that_log_files_have_deleted(table: LogTable) -> None:
    table.write([("k0", 0, "a", None), ("g", 0, "b", None)], "delete")
    before = table.rows()
    options = {"hoodie.datasource.insert.dup.policy": "drop"}
    again = [
        ("k0", 1, "a", "again"),
        ("k1", 1, "b", "dropped"),
        ("l", 1, "a", "dropped"),
        ("g", 1, "b", "again"),
    ]
    result = table.write(again, "insert", options=options)
    assert result.rows.dropped_existing == 2
    assert table.rows() == sorted([*before, again[0], again[3]])
    with pytest.raises(InvalidDataError, match="2 rows with a key that is already in the table"):
        table.write(
            [("l", 2, "a", "x"), ("g", 2, "b", "x")],
            "insert",
            options={"hoodie.datasource.insert.dup.policy": "fail"},
        )


def test_the_record_size_is_estimated_from_base_files_only(table: LogTable) -> None:
    result = table.write([(f"n{i}", 1, "b", "inserted") for i in range(3)])
    assert result.rows.inserted == 3


def test_a_row_that_moves_to_another_partition_is_deleted_by_a_log_file(tmp_path: Path) -> None:
    options = {
        "hoodie__index__type": "GLOBAL_SIMPLE",
        "hoodie__simple__index__update__partition__path": "true",
    }
    table = new_log_table(tmp_path / "t", **options)
    table.ordering_field = ""
    table.write(OLD)
    table.write([("k0", 2, "a", "logged")])
    result = table.write([("k0", 3, "b", "moved")])
    assert (result.rows.deleted, result.rows.inserted) == (1, 1)
    assert table.rows() == sorted([("k0", 3, "b", "moved"), *OLD[1:]])


@pytest.mark.parametrize("version", ["6", "9"])
def test_a_row_that_moves_back_goes_to_the_slice_whose_base_file_has_its_key(
    tmp_path: Path, version: str
) -> None:
    options = {
        "hoodie__index__type": "GLOBAL_SIMPLE",
        "hoodie__simple__index__update__partition__path": "true",
        "hoodie__datasource__write__payload__class": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
    }
    table = new_log_table(tmp_path / "t", int(version), **options)
    table.ordering_field = ""
    table.write(OLD)
    table.write([("k0", 2, "b", "moved")])
    groups = {s.file_group_id for s in table.slices()}
    result = table.write([("k0", 3, "a", "back"), ("k2", 3, "a", "changed")])
    # In a new file group, Hudi would find the key in two base files of the partition, and update both rows.
    assert {s.file_group_id for s in table.slices()} == groups
    assert (result.rows.inserted, result.rows.updated, result.rows.deleted) == (1, 1, 1)
    assert table.rows() == sorted([("k0", 3, "a", "back"), ("k2", 3, "a", "changed"), OLD[1], OLD[3]])
    table.write([("k0", 4, "b", "away"), ("k2", 4, "b", "away")])
    assert table.write([("k0", 0, "a", None)], "delete").rows.deleted == 1
    assert table.rows() == sorted([("k2", 4, "b", "away"), OLD[1], OLD[3]])


def test_a_new_key_that_another_writer_logs_during_the_write_is_a_conflict(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", hoodie__write__num__retries__on__conflict__failures="0")
    table.ordering_field = ""
    table.write(OLD)

    class Beside(FaultyStorage):
        has_acted = False

        def write(self, path: str, data: bytes) -> None:
            if ".marker." in path and not self.has_acted:
                self.has_acted = True
                foreign_log(table, "b", NEW_GROUP, [("n", 1, "b", "theirs")])
            super().write(path, data)

    with pytest.raises(FileGroupConflictError):
        table.write([("n", 2, "b", "ours")], storage=Beside(table.storage))
    assert [row for row in table.rows() if row[0] == "n"] == [("n", 1, "b", "theirs")]
