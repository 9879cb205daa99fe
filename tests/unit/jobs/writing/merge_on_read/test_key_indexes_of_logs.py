"""Writes to log files keep the record index and secondary indexes equal to the rows that readers merge."""

import random
from contextlib import suppress
from pathlib import Path

import pytest

from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.storage.clock import SystemClock
from judges.merge_on_read.key_indexes import stored_entries, stored_instants
from support.compaction.jobs_here import execute, schedule
from support.depth import by_depth, cases
from support.spark.indexed_log_tables import assert_indexes_equal_rows, new_indexed_table
from support.spark.log_tables import LogTable, Row

OLD: list[Row] = [(f"k{i}", 5, "ab"[i % 2], "old", False) for i in range(6)]
RECORD_INDEX_LOOKUP = {"hoodie.index.type": "RECORD_INDEX"}
LOOKUPS = [{}, RECORD_INDEX_LOOKUP, {"hoodie.index.type": "BLOOM"}]
NO_PADDING = {"hoodie.parquet.small.file.limit": "0"}


@pytest.fixture(params=[6, 8, 9])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> LogTable:
    # A write cannot be undone after the metadata table was compacted.
    options = {"hoodie__metadata__compact__max__delta__commits": "50"}
    made = new_indexed_table(tmp_path / "t", request.param, **options)
    made.write(OLD)
    assert_indexes_equal_rows(made)
    return made


def keys_of(table: LogTable) -> set[str]:
    return {key for key, *_ in stored_entries(table.base_path)}


def compact(table: LogTable) -> None:
    schedule(table.storage, SystemClock())
    execute(table.storage, SystemClock())


def undo_newest(table: LogTable) -> None:
    instant, _ = table.newest()
    rollback(RollbackRequest(base_path=str(table.base_path), instants=(instant.requested_time,)))


def test_updates_change_no_entry_of_the_record_index(table: LogTable) -> None:
    before = stored_instants(table.base_path)
    table.write([("k0", 6, "a", "new", False), ("k1", 3, "b", "late", False)])
    assert [len(s.log_files) for s in table.slices()] == [1, 1]
    assert stored_instants(table.base_path) == before
    assert_indexes_equal_rows(table)


def test_deletes_remove_entries(table: LogTable) -> None:
    table.write([("k0", 0, "a", None), ("k1", 0, "b", None)], "delete", names=("k", "ts", "p", "v"))
    assert keys_of(table) == {"k2", "k3", "k4", "k5"}
    table.write([("k2", 9, "a", None, True), ("k3", None, "b", None, True)])
    assert keys_of(table) == {"k4", "k5"}
    assert_indexes_equal_rows(table)


@pytest.mark.parametrize("version", [8, 9])
def test_a_late_delete_keeps_the_entry_of_the_row_that_stays(tmp_path: Path, version: int) -> None:
    """Version 6 is different: its readers apply each delete to the base file."""
    table = new_indexed_table(tmp_path / "t", version)
    table.write(OLD)
    table.write([("k0", 3, "a", None, True), ("k2", 7, "a", None, True)])
    assert_indexes_equal_rows(table)
    assert "k0" in keys_of(table)
    assert "k2" not in keys_of(table)
    # The row of a later log file wins too.
    table.write([("k0", 9, "a", "newer", False)])
    table.write([("k0", 7, "a", None, True)])
    assert_indexes_equal_rows(table)
    assert "k0" in keys_of(table)


def test_in_version_6_a_delete_removes_the_row_of_the_base_file_but_not_a_newer_row_of_a_log(
    tmp_path: Path,
) -> None:
    table = new_indexed_table(tmp_path / "t", 6)
    table.write(OLD)
    table.write([("k0", 9, "a", "newer", False)])
    table.write([("k0", 7, "a", None, True), ("k2", 3, "a", None, True)])
    assert keys_of(table) == {"k0", "k1", "k3", "k4", "k5"}
    compact(table)
    assert_indexes_equal_rows(table)


def test_a_row_that_a_log_file_deleted_gets_an_entry_again(table: LogTable) -> None:
    group = table.slice_of("a").file_group_id.file_id
    table.write([("k0", 0, "a", None)], "delete", names=("k", "ts", "p", "v"))
    table.write([("k0", 9, "a", "again", False), ("k2", 9, "a", "new", False)])
    assert stored_entries(table.base_path)["k0", "a", group] == 1
    assert_indexes_equal_rows(table)


def test_with_the_record_index_a_deleted_key_is_inserted_into_another_file_group(table: LogTable) -> None:
    """As in Hudi: the index has no entry, so the file group whose base file has the key is not searched."""
    group = table.slice_of("a").file_group_id.file_id
    table.write([("k0", 0, "a", None)], "delete", names=("k", "ts", "p", "v"))
    result = table.write([("k0", 9, "a", "again", False)], options=RECORD_INDEX_LOOKUP)
    assert (result.rows.inserted, result.warnings) == (1, ())
    assert stored_entries(table.base_path)["k0", "a", group] == 0
    assert_indexes_equal_rows(table)
    # Every kind of look-up finds the row that exists.
    for lookup in LOOKUPS:
        table.write([("k0", 9, "a", f"found {lookup}", False)], options=lookup)
        assert_indexes_equal_rows(table, lookup)
    compact(table)
    assert_indexes_equal_rows(table)


@pytest.mark.parametrize("operation", ["insert_overwrite", "insert_overwrite_table", "delete_partition"])
def test_replaced_slices_lose_the_entries_of_their_merged_rows(table: LogTable, operation: str) -> None:
    table.write([("k0", 9, "a", None, True), ("k2", 9, "a", "new", False)])
    # The key has now a row in another file group, and an old row in the base file of the first file group.
    table.write([("k0", 9, "c", "moved", False)], options=RECORD_INDEX_LOOKUP)
    assert_indexes_equal_rows(table)
    if operation == "delete_partition":
        table.write([], operation, options={"hoodie.datasource.write.partitions.to.delete": "a"})
    else:
        table.write([("k4", 9, "a", "only", False)], operation)
    assert_indexes_equal_rows(table)
    assert ("k0" in keys_of(table)) == (operation != "insert_overwrite_table")


def test_rollback_of_a_delta_commit_restores_the_entries(table: LogTable) -> None:
    table.write([("k0", 9, "a", "new", False)])
    before = stored_instants(table.base_path)
    table.write([("k0", 9, "a", None, True), ("k1", 9, "b", "newer", False), ("n", 9, "b", "insert", False)])
    assert stored_instants(table.base_path) != before
    undo_newest(table)
    assert stored_instants(table.base_path) == before
    assert_indexes_equal_rows(table)


def test_compaction_changes_no_entry(table: LogTable) -> None:
    table.write([("k0", 9, "a", None, True), ("k1", 9, "b", "newer", False)])
    before = stored_instants(table.base_path)
    compact(table)
    assert not any(s.log_files for s in table.slices())
    assert stored_instants(table.base_path) == before
    assert_indexes_equal_rows(table)


class Turns:
    """Random changes of a table. Ordering values grow, except those of late rows."""

    def __init__(self, table: LogTable, chosen: random.Random, version: int) -> None:
        self.table, self.chosen, self.version = table, chosen, version
        self.time = 10
        self.keys = [f"k{i:02}" for i in range(16)]
        self.deleted: set[str] = set()
        """Keys that a write deleted; a key stays here until a later write that is certainly not undone."""

    def turn(self) -> str:
        self.time += 1
        actions = ["upsert"] * 4 + ["delete", "late", "mark", "insert_overwrite", "compact", "rollback"]
        # In version 6, hudi-rs merges late deletes by the rules of later versions.
        actions += ["late mark"] if self.version > 6 else []
        action = self.chosen.choice(actions)
        if action == "compact":
            compact(self.table)
            return action
        options = {**self.chosen.choice(LOOKUPS), **self.chosen.choice([{}, NO_PADDING])}
        rows = [self._row(key, action) for key in self.chosen.sample(self.keys, self.chosen.randint(1, 6))]
        operation = action if action in ("delete", "insert_overwrite") else "upsert"
        self.table.write(rows, operation, options=options)
        if action != "rollback":
            self.deleted -= {key for key, *_ in rows}
        self.deleted |= {key for key, *_, is_marked in rows if is_marked or operation == "delete"}
        if action == "rollback":
            # If the write made the metadata table compact itself, the write cannot be undone.
            with suppress(UnsupportedTableError):
                undo_newest(self.table)
        return f"{action} {options}"

    def _row(self, key: str, action: str) -> Row:
        partition = "ab"[self.keys.index(key) % 2]
        is_marked = action.endswith("mark") and self.chosen.random() < 0.6
        time = self.chosen.randint(1, self.time) if action.startswith("late") else self.time
        if self.version == 6 and key in self.deleted:
            # If a row is older than the delete of its key, the row of the base file exists again in version 6. hudi-rs
            # follows the rule of later versions: the key stays deleted.
            time = self.time
        value = self.chosen.choice([f"{action}-{self.time}", "same", None])
        return (key, time, partition, None if is_marked else value, is_marked)


@pytest.mark.parametrize("seed", cases(range(5), [0]))
@pytest.mark.parametrize("ordering", ["ts", ""], ids=["event time", "commit time"])
@pytest.mark.parametrize("version", cases([6, 8, 9], [6, 9]))
def test_random_writes_keep_the_indexes_correct(
    tmp_path: Path, version: int, ordering: str, seed: int
) -> None:
    chosen = random.Random(f"{version} {ordering} {seed}")
    table = new_indexed_table(tmp_path / "t", version)
    table.ordering_field = ordering
    table.write(OLD)
    turns = Turns(table, chosen, version)
    history: list[str] = []
    for _ in range(by_depth(14, 40)):
        history.append(turns.turn())
        assert_indexes_equal_rows(table, history)


@pytest.mark.parametrize("seed", cases(range(3), [0]))
def test_random_writes_keep_a_partitioned_record_index_correct(tmp_path: Path, seed: int) -> None:
    table = new_indexed_table(tmp_path / "t", 9, is_partitioned=True)
    table.write(OLD)
    # The same keys in another partition.
    table.write([(key, ts, "ba"["ab".index(p)], "twin", False) for key, ts, p, *_ in OLD])
    assert_indexes_equal_rows(table)
    turns = Turns(table, random.Random(seed), 9)
    history: list[str] = []
    for _ in range(by_depth(12, 40)):
        history.append(turns.turn())
        assert_indexes_equal_rows(table, history)
