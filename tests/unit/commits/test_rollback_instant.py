"""The rollback of a dead write: its steps on storage, and the instants that it does not touch."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar
from uuid import uuid4

import pytest

from hudi_table_services.commits.undo import finish_pending_rollbacks, rollback_instant
from hudi_table_services.errors import CorruptTableError, StorageError, UnsupportedTableError
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import (
    decode_rollback_metadata,
    decode_rollback_plan,
    encode_requested_replace,
    encode_rollback_plan,
)
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.metadata_settings import DEFAULT_METADATA_SETTINGS
from hudi_table_services.planning.recovery.rollback_plan import plan_rollback
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.table_store import read_table_config, update_properties
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.small_tables import SmallTable, base_file_name

A = FileGroupId("city=a", "a-0")


@pytest.fixture(params=[TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name)
def table(request: pytest.FixtureRequest) -> SmallTable:
    table = SmallTable(MemoryStorage(uuid4().hex), request.param)
    table.commit(A)
    return table


def access(table: SmallTable) -> TableAccess:
    return TableAccess(storage=table.storage, clock=table.clock, config=table.config)


def dead_write(table: SmallTable, *, marked: bool = True) -> tuple[Instant, list[str]]:
    """A write that died after its first data file; the second file has a marker but does not exist."""
    pending = table.begin()
    markers = MarkerStore(table.storage, pending.requested_time)
    paths = [f"city={c}/{base_file_name('n-0', pending.requested_time)}" for c in "ab"]
    if marked:
        for path in paths:
            markers.mark(path, MarkerKind.CREATE)
    table.add_file("city=a", paths[0].partition("/")[2])
    table.storage.create(heartbeat_path(pending.requested_time), b"")
    return pending, paths


def clustering_content() -> bytes:
    group = ClusteringGroup(slices=(ClusteringSlice(file_id="a-0", partition_path="city=a"),))
    return encode_requested_replace(ClusteringPlan(groups=(group,)))


def test_a_rollback_deletes_all_files_of_a_dead_write_and_is_on_the_timeline(table: SmallTable) -> None:
    before = load_snapshot(table.storage)
    dead, paths = dead_write(table)
    done = rollback_instant(access(table), dead)
    assert done is not None
    assert not any(dead.requested_time in f.path for f in table.storage.list_files())
    timeline = table.timeline_store.load()
    assert [i.action for i in timeline] == [Action.COMMIT, Action.ROLLBACK]
    metadata = decode_rollback_metadata(table.timeline_store.read(done))
    assert metadata.commits_rolled_back == (dead.requested_time,)
    assert metadata.start_rollback_time == done.requested_time
    assert {p for part in metadata.partitions.values() for p in part.deleted_files} == {
        f"{table.storage.base_path}/{path}" for path in paths
    }
    assert load_snapshot(table.storage).file_slices == before.file_slices


def test_the_timeline_contains_the_plan_of_the_rollback(table: SmallTable) -> None:
    dead, paths = dead_write(table)
    done = rollback_instant(access(table), dead)
    assert done is not None
    plan = decode_rollback_plan(table.timeline_store.read_requested(done))
    assert plan == plan_rollback(dead, paths, table.storage.base_path)


def test_files_of_an_inflight_write_without_markers_are_found_by_listing(table: SmallTable) -> None:
    dead, (written, _) = dead_write(table, marked=False)
    done = rollback_instant(access(table), dead)
    assert done is not None
    assert not table.storage.exists(written)
    (request,) = decode_rollback_plan(table.timeline_store.read_requested(done)).requests
    assert request.file_id == ""


def test_files_in_markers_of_hudis_timeline_server_are_deleted(table: SmallTable) -> None:
    dead, (written, _) = dead_write(table, marked=False)
    folder = f".hoodie/.temp/{dead.requested_time}"
    table.storage.create(f"{folder}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    table.storage.create(f"{folder}/MARKERS0", f"{written}.marker.MERGE\n".encode())
    done = rollback_instant(access(table), dead)
    assert done is not None
    assert not table.storage.exists(written)
    assert list(table.storage.list_files(folder)) == []


def test_a_write_that_was_only_requested_is_rolled_back(table: SmallTable) -> None:
    requested = table.timeline_store.request(Action.COMMIT)
    assert rollback_instant(access(table), requested) is not None
    assert table.timeline_store.load().pending == ()


def test_a_dead_overwrite_is_rolled_back(table: SmallTable) -> None:
    pending = table.begin(Action.REPLACE_COMMIT, encode_requested_replace(None))
    assert rollback_instant(access(table), pending) is not None
    assert table.timeline_store.load().pending == ()


def test_a_completed_write_is_not_rolled_back(table: SmallTable) -> None:
    completed = table.commit(A)
    pending = Instant(
        requested_time=completed.requested_time, action=Action.COMMIT, state=InstantState.INFLIGHT
    )
    assert rollback_instant(access(table), pending) is None
    assert completed in table.timeline_store.load()


def test_pending_plans_of_table_services_are_not_rolled_back(table: SmallTable) -> None:
    is_new = table.version.layout.has_completion_time_in_names
    clustering = table.begin(Action.CLUSTERING if is_new else Action.REPLACE_COMMIT, clustering_content())
    compaction = table.begin(Action.COMPACTION, b"plan")
    for instant in (clustering, compaction):
        assert rollback_instant(access(table), instant) is None
        assert instant in table.timeline_store.load()


def test_a_dead_rollback_is_completed_with_its_stored_plan(table: SmallTable) -> None:
    dead, (written, _) = dead_write(table)
    plan = encode_rollback_plan(plan_rollback(dead, [written], table.storage.base_path))
    begun = table.begin(Action.ROLLBACK, plan)
    done = rollback_instant(access(table), dead)
    assert done is not None
    assert done.requested_time == begun.requested_time
    assert table.timeline_store.load().pending == ()


def test_a_rollback_that_died_after_its_deletions_is_completed(table: SmallTable) -> None:
    dead, (written, _) = dead_write(table)
    plan = encode_rollback_plan(plan_rollback(dead, [written], table.storage.base_path))
    begun = table.begin(Action.ROLLBACK, plan)
    table.storage.delete(written)
    table.timeline_store.remove(dead)
    (done,) = finish_pending_rollbacks(access(table), table.timeline_store.load())
    assert done.requested_time == begun.requested_time
    assert list(table.storage.list_files(".hoodie/.temp")) == []


def test_a_write_does_not_complete_the_rollback_of_a_clustering(table: SmallTable) -> None:
    is_new = table.version.layout.has_completion_time_in_names
    clustering = table.begin(Action.CLUSTERING if is_new else Action.REPLACE_COMMIT, clustering_content())
    begun = table.begin(Action.ROLLBACK, encode_rollback_plan(plan_rollback(clustering, [], "/t")))
    assert finish_pending_rollbacks(access(table), table.timeline_store.load()) == ()
    assert set(table.timeline_store.load().pending) == {clustering, begun}


def test_a_rollback_without_a_plan_is_removed(table: SmallTable) -> None:
    table.begin(Action.ROLLBACK, b"")
    assert finish_pending_rollbacks(access(table), table.timeline_store.load()) == ()
    assert table.timeline_store.load().pending == ()


def test_rollbacks_are_not_completed_while_a_restore_is_pending(table: SmallTable) -> None:
    table.begin(Action.RESTORE, b"plan")
    with pytest.raises(UnsupportedTableError, match="Restore"):
        finish_pending_rollbacks(access(table), table.timeline_store.load())


def test_a_metadata_table_with_the_dead_write_is_switched_off_if_the_request_says_so(
    table: SmallTable,
) -> None:
    dead, _ = dead_write(table)
    folder = f".hoodie/metadata/{table.version.layout.timeline_folder}"
    table.storage.create(f"{folder}/{dead.requested_time}.deltacommit", b"x")
    opened = with_listed_metadata_table(table, metadata_enable=False)
    assert rollback_instant(opened, dead) is not None
    assert read_table_config(table.storage).metadata_partitions == ()


def test_a_metadata_table_without_the_dead_write_is_kept(table: SmallTable) -> None:
    dead, _ = dead_write(table)
    assert rollback_instant(with_listed_metadata_table(table, metadata_enable=False), dead) is not None
    assert read_table_config(table.storage).metadata_partitions == ("files",)


def test_nothing_is_deleted_if_the_listed_metadata_table_does_not_exist(table: SmallTable) -> None:
    dead, (written, _) = dead_write(table)
    with pytest.raises(CorruptTableError, match="contains none"):
        rollback_instant(with_listed_metadata_table(table), dead)
    assert table.storage.exists(written)


def with_listed_metadata_table(table: SmallTable, metadata_enable: bool | None = None) -> TableAccess:
    listed = update_properties(table.storage, {"hoodie.table.metadata.partitions": "files"}, table.clock)
    options = replace(DEFAULT_METADATA_SETTINGS, enable=metadata_enable)
    return TableAccess(storage=table.storage, clock=table.clock, config=listed, metadata=options)


class _RollbackDuringDeletion(MemoryStorage):
    """A storage on which another job executes the pending rollback before data files are deleted."""

    other: ClassVar[Callable[[], object]]

    def delete_files(self, paths: Sequence[str]) -> dict[str, StorageError]:
        other, type(self).other = type(self).other, lambda: None
        other()
        return dict(super().delete_files(paths))


def test_two_jobs_may_complete_the_same_rollback(table: SmallTable) -> None:
    """A writer may lose its lock while it rolls back its own attempt; then the next job executes the same rollback."""
    dead, (written, _) = dead_write(table)
    plan = encode_rollback_plan(plan_rollback(dead, [written], table.storage.base_path))
    begun = table.begin(Action.ROLLBACK, plan)
    others: list[Instant] = []
    _RollbackDuringDeletion.other = lambda: others.extend(
        finish_pending_rollbacks(access(table), table.timeline_store.load())
    )
    during_deletion = TableAccess(
        storage=_RollbackDuringDeletion(table.storage.uri.removeprefix("memory://")),
        clock=table.clock,
        config=table.config,
    )
    done = rollback_instant(during_deletion, dead)
    assert done is not None
    assert [done.identity] == [each.identity for each in others] == [begun.identity]
    rollbacks = [i for i in table.timeline_store.load() if i.action is Action.ROLLBACK]
    assert [i.is_completed for i in rollbacks] == [True]
