"""The snapshot of a table: visible file slices, reserved file groups, schema, and changes by other writers."""

from uuid import uuid4

import pytest

from hudi_table_services.hudi_format.table_service_plans import (
    encode_compaction_plan,
    encode_requested_replace,
)
from hudi_table_services.model.concurrent_change import ChangeKind
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import (
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
    CompactionOperation,
    CompactionPlan,
)
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.small_tables import SCHEMA, SmallTable, base_file_name

A1, A2, B1 = FileGroupId("city=a", "a1-0"), FileGroupId("city=a", "a2-0"), FileGroupId("x/y=b", "b1-0")


@pytest.fixture(params=[TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name)
def table(request: pytest.FixtureRequest) -> SmallTable:
    return SmallTable(MemoryStorage(uuid4().hex), request.param)


def base_instants(snapshot: TableSnapshot) -> dict[str, str]:
    return {str(s.file_group_id): s.base_instant_time for s in snapshot.all_slices}


def clustering_plan(*groups: FileGroupId) -> bytes:
    slices = tuple(ClusteringSlice(file_id=g.file_id, partition_path=g.partition_path) for g in groups)
    return encode_requested_replace(ClusteringPlan(groups=(ClusteringGroup(slices=slices),)))


def pending_clustering(table: SmallTable) -> Action:
    layout = table.version.layout
    return Action.CLUSTERING if layout.has_completion_time_in_names else Action.REPLACE_COMMIT


def test_the_latest_slice_of_each_file_group_is_loaded(table: SmallTable) -> None:
    first = table.commit(A1, A2, B1)
    second = table.commit(A1)
    snapshot = load_snapshot(table.storage)
    assert base_instants(snapshot) == {
        "city=a/a1-0": second.requested_time,
        "city=a/a2-0": first.requested_time,
        "x/y=b/b1-0": first.requested_time,
    }
    assert snapshot.partitions == ("city=a", "x/y=b")
    assert (
        snapshot.slices_of("x/y=b")[0].base_file_path
        == f"x/y=b/{base_file_name('b1-0', first.requested_time)}"
    )
    assert snapshot.slices_of("x/y=b")[0].size_bytes == 4


def test_only_requested_partitions_are_listed(table: SmallTable) -> None:
    table.commit(A1, B1)
    assert load_snapshot(table.storage, ["x/y=b", "city=new"]).partitions == ("x/y=b",)
    assert load_snapshot(table.storage, []).file_slices == {}


def test_files_of_a_table_without_partitions_are_loaded(table: SmallTable) -> None:
    instant = table.commit(FileGroupId("", "f-0"))
    assert base_instants(load_snapshot(table.storage)) == {"./f-0": instant.requested_time}


def test_a_folder_without_partition_metadata_is_not_a_partition(table: SmallTable) -> None:
    instant = table.commit(A1)
    table.storage.create(f"city=c/{base_file_name('c1-0', instant.requested_time)}", b"x")
    assert load_snapshot(table.storage).partitions == ("city=a",)
    assert load_snapshot(table.storage, ["city=c"]).partitions == ()


def test_files_of_pending_and_undone_writes_are_hidden(table: SmallTable) -> None:
    committed = table.commit(A1)
    pending = table.begin()
    table.add_file("city=a", base_file_name("a1-0", pending.requested_time))
    table.add_file("city=a", base_file_name("new-0", pending.requested_time))
    assert base_instants(load_snapshot(table.storage)) == {"city=a/a1-0": committed.requested_time}
    table.timeline_store.remove(pending)
    assert base_instants(load_snapshot(table.storage)) == {"city=a/a1-0": committed.requested_time}


def test_files_older_than_the_first_active_write_are_visible(table: SmallTable) -> None:
    table.add_file("city=a", base_file_name("old-0", "20200101000000000"))
    table.commit(A1)
    assert "city=a/old-0" in base_instants(load_snapshot(table.storage))


def test_an_old_clean_does_not_hide_archived_writes(table: SmallTable) -> None:
    """Cleans and rollbacks are archived independently of writes, so an old clean may remain on the active timeline."""
    table.timeline_store.request(Action.CLEAN, b"plan", "20200101000000000")
    table.add_file("city=a", base_file_name("old-0", "20200202000000000"))
    table.commit(A1)
    assert "city=a/old-0" in base_instants(load_snapshot(table.storage))


def test_a_remaining_savepointed_commit_does_not_hide_archived_writes(table: SmallTable) -> None:
    saved = table.commit(A1)
    table.storage.create(
        f"{table.version.layout.timeline_folder}/{saved.requested_time}"
        f"{'_20990101000000000' if table.version.layout.has_completion_time_in_names else ''}.savepoint",
        b"x",
    )
    table.clock.moment = table.clock.moment.replace(year=2027)
    table.add_file("city=a", base_file_name("old-0", "20260606000000000"))
    table.commit(A2)
    assert "city=a/old-0" in base_instants(load_snapshot(table.storage))


def test_files_of_a_dead_write_older_than_every_commit_are_hidden(table: SmallTable) -> None:
    dead = table.begin()
    table.add_file("city=a", base_file_name("dead-0", dead.requested_time))
    table.commit(A1)
    assert "city=a/dead-0" not in base_instants(load_snapshot(table.storage))


def test_replaced_file_groups_are_hidden(table: SmallTable) -> None:
    table.commit(A1, A2, B1)
    replacing = FileGroupId("city=a", "a3-0")
    table.commit(replacing, replaces={"city=a": ("a1-0", "a2-0")})
    assert set(base_instants(load_snapshot(table.storage))) == {"city=a/a3-0", "x/y=b/b1-0"}


def test_a_pending_overwrite_replaces_and_reserves_nothing(table: SmallTable) -> None:
    table.commit(A1)
    table.begin(Action.REPLACE_COMMIT, encode_requested_replace(None))
    snapshot = load_snapshot(table.storage)
    assert set(base_instants(snapshot)) == {"city=a/a1-0"}
    assert snapshot.reserved_file_groups == {}


def test_file_groups_of_pending_plans_are_reserved(table: SmallTable) -> None:
    table.commit(A1, A2, B1)
    clustering = table.begin(pending_clustering(table), clustering_plan(A1))
    operation = CompactionOperation(base_instant_time="1", file_id="b1-0", partition_path="x/y=b")
    compaction = table.timeline_store.request(
        Action.COMPACTION, encode_compaction_plan(CompactionPlan(operations=(operation,)))
    )
    assert load_snapshot(table.storage).reserved_file_groups == {
        A1: clustering.requested_time,
        B1: compaction.requested_time,
    }


def test_the_schema_is_from_the_latest_write_with_a_schema(table: SmallTable) -> None:
    assert load_snapshot(table.storage).schema_json is None
    table.commit(A1, schema='{"old":1}')
    table.commit(A1, schema=SCHEMA)
    table.commit(A1, schema=None)
    assert load_snapshot(table.storage).schema_json == SCHEMA


def test_the_file_of_the_commit_is_selected_among_files_of_retried_tasks(table: SmallTable) -> None:
    instant = table.commit(A1)
    for token in ("0-0-0", "9-9-9"):
        table.add_file("city=a", base_file_name("a1-0", instant.requested_time, token), b"half")
    (only,) = load_snapshot(table.storage).all_slices
    assert only.base_file is not None
    assert only.base_file.write_token == "0-1-0"


def test_among_files_of_an_archived_commit_the_last_name_is_selected(table: SmallTable) -> None:
    for token in ("0-1-0", "0-2-0"):
        table.add_file("city=a", base_file_name("old-0", "20200101000000000", token))
    table.commit(A1)
    old = next(s for s in load_snapshot(table.storage).all_slices if s.file_group_id.file_id == "old-0")
    assert old.base_file is not None
    assert old.base_file.write_token == "0-2-0"


@pytest.mark.parametrize(
    "name",
    [
        "x.txt",
        "a_b.parquet",
        ".a1-0_0-1-0_{0}.parquet.crc",
        "a_b_c.parquet",
        "a_b_{0}.parquet.tmp",
        "_SUCCESS",
    ],
)
def test_other_files_of_a_partition_are_ignored(table: SmallTable, name: str) -> None:
    instant = table.commit(A1)
    table.add_file("city=a", name.format(instant.requested_time))
    assert set(base_instants(load_snapshot(table.storage))) == {"city=a/a1-0"}


def test_archival_of_an_instant_during_loading_is_not_an_error(table: SmallTable) -> None:
    table.commit(A1, replaces={})
    newest = table.commit(A2)

    class Archiver(MemoryStorage):
        """A storage that removes the first commit directly before a job reads the content of this commit."""

        def read(self, path: str) -> bytes:
            if path.endswith(".replacecommit") and self.exists(path):
                self.delete(path)
                folder, _, name = path.rpartition("/")
                self.delete(f"{folder}/{name[:17]}.replacecommit.inflight")
                self.delete(f"{folder}/{name[:17]}.replacecommit.requested")
            return super().read(path)

    snapshot = load_snapshot(Archiver(table.storage.uri.removeprefix("memory://")))
    assert snapshot.timeline.completed_writes == (newest,)


# Log files of merge-on-read tables.


def add_log(table: SmallTable, file_id: str, instant_time: str, version: int = 1) -> str:
    name = f".{file_id}_{instant_time}.log.{version}_0-1-0"
    table.add_file("city=a", name, b"#HUDI#")
    return name


def delta_commit(table: SmallTable, file_id: str, base_instant: str, version: int) -> str:
    """Complete a delta commit of one log file, named as the table version requires."""
    store = table.timeline_store
    pending = table.begin(Action.DELTA_COMMIT)
    has_own_instant = table.version.layout.has_completion_time_in_names
    name = add_log(
        table,
        file_id,
        pending.requested_time if has_own_instant else base_instant,
        1 if has_own_instant else version,
    )
    store.complete(
        pending, b'{"extraMetadata":{"schema":"s"}}' if not has_own_instant else _empty_avro(table)
    )
    return name


def _empty_avro(table: SmallTable) -> bytes:
    from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
    from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation

    metadata = CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats={})
    return encode_commit_metadata(metadata, table.version)


def test_log_files_belong_to_the_latest_slice(table: SmallTable) -> None:
    base = table.commit(A1)
    delta_commit(table, "a1-0", base.requested_time, 1)
    newer = table.commit(A1)
    second = delta_commit(table, "a1-0", newer.requested_time, 1)
    third = delta_commit(table, "a1-0", newer.requested_time, 2)
    (only,) = load_snapshot(table.storage).all_slices
    assert only.base_instant_time == newer.requested_time
    assert [log.file_name for log in only.log_files] == [second, third]


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9])
def test_the_requested_times_order_the_log_files_of_a_slice(version: TableVersion) -> None:
    """The completion times determine only the slice: `between` completes last, but Hudi merges it in the middle."""
    table = SmallTable(MemoryStorage(uuid4().hex), version)
    table.commit(A1)
    first, between, last = (table.begin(Action.DELTA_COMMIT) for _ in range(3))
    names = [add_log(table, "a1-0", instant.requested_time) for instant in (first, between, last)]
    names.insert(1, add_log(table, "a1-0", first.requested_time, version=2))
    names.append(add_log(table, "a1-0", last.requested_time, version=10))
    for instant in (last, first, between):
        table.timeline_store.complete(instant, _empty_avro(table))
    (only,) = load_snapshot(table.storage).all_slices
    assert [log.file_name for log in only.log_files] == names


def test_a_slower_write_is_part_of_the_slice_that_began_before_its_completion() -> None:
    table = SmallTable(MemoryStorage(uuid4().hex), TableVersion.V9)
    table.commit(A1)
    slow = table.begin(Action.DELTA_COMMIT)
    name = add_log(table, "a1-0", slow.requested_time)
    newer = table.commit(A1)
    table.timeline_store.complete(slow, _empty_avro(table))
    (only,) = load_snapshot(table.storage).all_slices
    assert only.base_instant_time == newer.requested_time
    assert [log.file_name for log in only.log_files] == [name]


def test_log_files_of_pending_writes_are_hidden_from_version_8_on() -> None:
    table = SmallTable(MemoryStorage(uuid4().hex), TableVersion.V8)
    table.commit(A1)
    pending = table.begin(Action.DELTA_COMMIT)
    add_log(table, "a1-0", pending.requested_time)
    add_log(table, "new-0", pending.requested_time)
    (only,) = load_snapshot(table.storage).all_slices
    assert only.log_files == ()


def test_a_version_6_slice_includes_the_log_files_of_a_pending_compaction() -> None:
    table = SmallTable(MemoryStorage(uuid4().hex))
    base = table.commit(A1)
    first = add_log(table, "a1-0", base.requested_time)
    compaction = table.begin(Action.COMPACTION)
    second = add_log(table, "a1-0", compaction.requested_time)
    (only,) = load_snapshot(table.storage).all_slices
    assert only.base_file is not None
    assert only.base_instant_time == base.requested_time
    assert [log.file_name for log in only.log_files] == [first, second]


def test_a_file_group_with_only_log_files_is_loaded(table: SmallTable) -> None:
    delta_commit(table, "log-0", "none", 1) if table.version >= TableVersion.V8 else None
    if table.version is TableVersion.V6:
        pending = table.begin(Action.DELTA_COMMIT)
        add_log(table, "log-0", pending.requested_time)
        table.timeline_store.complete(pending, b"{}")
    (only,) = load_snapshot(table.storage).all_slices
    assert only.base_file is None
    assert only.base_file_path is None
    assert len(only.log_files) == 1


# Changes by other writers.


def test_an_unchanged_timeline_has_no_changes(table: SmallTable) -> None:
    table.commit(A1)
    timeline = table.timeline_store.load()
    assert load_commit_changes(table.timeline_store, timeline, timeline) == ()


def test_a_newly_completed_commit_is_a_change_even_if_its_requested_time_is_old(table: SmallTable) -> None:
    slow = table.begin()
    before = table.timeline_store.load()
    ours = table.begin()
    theirs = table.commit(B1, replaces={"city=a": ("a2-0",)})
    table.timeline_store.complete(slow, _empty_avro(table))
    changes = load_commit_changes(
        table.timeline_store, before, table.timeline_store.load(), ignore={ours.requested_time}
    )
    assert {(c.instant.requested_time, c.kind, c.file_groups) for c in changes} == {
        (slow.requested_time, ChangeKind.COMPLETED, frozenset()),
        (theirs.requested_time, ChangeKind.COMPLETED, frozenset({B1, A2})),
    }


def test_a_pending_clustering_is_a_change_and_a_pending_write_is_not(table: SmallTable) -> None:
    table.commit(A1)
    before = table.timeline_store.load()
    table.begin()
    plan = table.timeline_store.request(pending_clustering(table), clustering_plan(A1))
    (change,) = load_commit_changes(table.timeline_store, before, table.timeline_store.load())
    assert (change.instant, change.kind, change.file_groups) == (
        plan,
        ChangeKind.PENDING_PLAN,
        frozenset({A1}),
    )


def test_an_undone_commit_is_a_change_and_an_archived_commit_is_not(table: SmallTable) -> None:
    archived, kept, undone = table.commit(A1), table.commit(A1), table.commit(A1)
    store, before = table.timeline_store, table.timeline_store.load()
    for instant in (archived, undone):
        store.remove_completed(instant)
        store.remove(instant)
    (change,) = load_commit_changes(store, before, store.load())
    assert (change.instant, change.kind) == (undone, ChangeKind.UNDONE)
    assert store.load().completed_writes == (kept,)


def test_each_of_a_hundred_partitions_is_listed_once() -> None:
    class CountingStorage(MemoryStorage):
        listed: list[str] = []  # noqa: RUF012 - the threads share this list

        def list_folder(self, folder: str = ""):
            CountingStorage.listed.append(folder)
            return super().list_folder(folder)

    name = uuid4().hex
    table = SmallTable(MemoryStorage(name))
    table.commit(*(FileGroupId(f"city={n:03d}", "f-0") for n in range(100)))
    storage: Storage = CountingStorage(name)
    CountingStorage.listed.clear()
    assert len(load_snapshot(storage).partitions) == 100
    assert sorted(CountingStorage.listed) == sorted({*CountingStorage.listed})
    assert len(CountingStorage.listed) == 102
