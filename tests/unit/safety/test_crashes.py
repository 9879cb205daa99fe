"""Crashes at every change to the storage: readers see the old or the new state, and a second run completes the work."""

from uuid import uuid4

import pytest

from hudi_table_services.commits.undo import finish_pending_rollbacks, rollback_instant
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import (
    METADATA_TABLE,
    create_table,
    disable_metadata_table,
    find_table_config,
    read_table_config,
    remove_unlisted_metadata_table,
    update_properties,
)
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.faulty_storage import FaultyStorage, crashes_everywhere
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name, table_properties

CLOCK = FixedClock()
VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)


def empty() -> Storage:
    return MemoryStorage(uuid4().hex)


@VERSIONS
def test_a_second_run_completes_the_creation_of_a_table(version: TableVersion) -> None:
    runs = 0
    for left in crashes_everywhere(lambda s: create_table(s, table_properties(version), CLOCK), empty):
        runs += 1
        if find_table_config(left) is None:
            create_table(left, table_properties(version), CLOCK)
        assert read_table_config(left).table_version is version
    assert runs >= 7


def test_properties_are_old_or_new_after_a_crash() -> None:
    def start() -> Storage:
        storage = empty()
        create_table(storage, {**table_properties(), "a": "old"}, CLOCK)
        return storage

    seen = set()
    for left in crashes_everywhere(lambda s: update_properties(s, {"a": "new"}, CLOCK), start):
        seen.add(read_table_config(left).get("a"))
        assert update_properties(left, {"b": "1"}, CLOCK).get("b") == "1"
        assert update_properties(left, {"a": "new"}, CLOCK).get("a") == "new"
    assert seen == {"old", "new"}


def test_a_listed_metadata_table_exists_after_a_crash() -> None:
    def start() -> Storage:
        storage = empty()
        create_table(storage, {**table_properties(), "hoodie.table.metadata.partitions": "files"}, CLOCK)
        storage.create(f"{METADATA_TABLE}/x", b"")
        return storage

    def switch_off(storage: Storage) -> None:
        disable_metadata_table(storage, read_table_config(storage), CLOCK)

    for left in crashes_everywhere(switch_off, start):
        config = read_table_config(left)
        # If the properties list a metadata table that does not exist, every later write of Hudi fails.
        assert left.exists(f"{METADATA_TABLE}/x") or not config.metadata_partitions
        if config.metadata_partitions:
            switch_off(left)
        else:
            remove_unlisted_metadata_table(left, config)
        assert not left.exists(f"{METADATA_TABLE}/x")


@VERSIONS
def test_the_next_run_rolls_back_a_dead_commit(version: TableVersion) -> None:
    def start() -> Storage:
        storage = empty()
        SmallTable(storage, version).commit(FileGroupId("city=a", "a-0"))
        return storage

    def write(storage: FaultyStorage | Storage) -> None:
        store = TimelineStore(storage, TableConfig(table_properties(version)), FixedClock())
        pending = store.start(store.request(Action.COMMIT))
        time = pending.requested_time
        path = f"city=a/{base_file_name('b-0', time)}"
        MarkerStore(storage, time).mark(path, MarkerKind.CREATE)
        storage.write(path, b"PAR1")
        metadata = CommitMetadata(operation_type=WriteOperation.INSERT, partition_to_write_stats={})
        store.complete(pending, encode_commit_metadata(metadata, version))
        MarkerStore(storage, time).delete()

    for left in crashes_everywhere(write, start):
        config, clock = read_table_config(left), FixedClock()
        old_or_new = {s.file_group_id.file_id for s in load_snapshot(left).all_slices}
        assert old_or_new in ({"a-0"}, {"a-0", "b-0"})
        table = TableAccess(storage=left, clock=clock, config=config)
        for pending in table.load_timeline().pending:
            assert rollback_instant(table, pending) is not None
        after = {s.file_group_id.file_id for s in load_snapshot(left).all_slices}
        assert after == old_or_new
        if after == {"a-0"}:
            assert not any("b-0" in stored.path for stored in left.list_files())
            write(left)
        assert {s.file_group_id.file_id for s in load_snapshot(left).all_slices} == {"a-0", "b-0"}


@VERSIONS
@pytest.mark.parametrize("completed_since", [False, True])
def test_a_second_run_completes_a_rollback(version: TableVersion, completed_since: bool) -> None:
    """If a rollback deleted instants before data files, data files older than the timeline would seem committed."""
    dead_times: list[str] = []

    def start() -> Storage:
        table = SmallTable(empty(), version)
        dead = table.begin()
        dead_times.append(dead.requested_time)
        for folder in ("city=a", "city=b"):
            name = base_file_name("dead-0", dead.requested_time)
            MarkerStore(table.storage, dead.requested_time).mark(f"{folder}/{name}", MarkerKind.CREATE)
            table.add_file(folder, name)
        if completed_since:
            table.commit(FileGroupId("city=a", "a-0"))
        return table.storage

    def roll_back(storage: Storage) -> None:
        table = TableAccess(
            storage=storage, clock=FixedClock(), config=TableConfig(table_properties(version))
        )
        finish_pending_rollbacks(table, table.load_timeline())
        for pending in table.load_timeline().pending:
            rollback_instant(table, pending)

    expected = {"a-0"} if completed_since else set()
    for left in crashes_everywhere(roll_back, start):
        assert {s.file_group_id.file_id for s in load_snapshot(left).all_slices} == expected
        roll_back(left)
        assert {s.file_group_id.file_id for s in load_snapshot(left).all_slices} == expected
        timeline = load_snapshot(left).timeline
        assert timeline.pending == ()
        assert len([i for i in timeline.completed if i.action is Action.ROLLBACK]) == 1
        assert not any(dead_times[-1] in f.path for f in left.list_files() if f.path.endswith(".parquet"))
