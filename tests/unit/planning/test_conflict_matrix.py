"""Every pair of concurrent actions on a real timeline, and the outcome for the action that commits later."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import (
    encode_compaction_plan,
    encode_requested_replace,
)
from hudi_table_services.hudi_format.workload_profile import encode_workload_profile
from hudi_table_services.model.concurrent_change import ChangeKind, ConflictStrategy
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.file_sizing import FileSizingPlan
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import (
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
    CompactionOperation,
    CompactionPlan,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.conflict_detection import find_conflict, groups_to_drop
from hudi_table_services.planning.file_sizing.write_profile import workload_profile
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.pending_plans import running_writes
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.small_tables import SmallTable

SHARED, NEW = FileGroupId("city=x", "a-0"), FileGroupId("city=x", "new-0")
REPLACED = {SHARED.partition_path: (SHARED.file_id,)}
SIMPLE, PREFER_WRITER = ConflictStrategy

# Actions of other writers on the file group that our action also changes.


def update(table: SmallTable) -> None:
    table.commit(SHARED)


def insert(table: SmallTable) -> None:
    table.commit(NEW)


def overwrite(table: SmallTable) -> None:
    table.commit(NEW, replaces=REPLACED)


def delete_partition(table: SmallTable) -> None:
    table.commit(replaces=REPLACED)


def inflight_update(table: SmallTable) -> None:
    store = table.timeline_store
    stat = WriteStat(file_id=SHARED.file_id, partition_path=SHARED.partition_path, path="")
    profile = CommitMetadata(
        operation_type=WriteOperation.UPSERT, partition_to_write_stats={SHARED.partition_path: (stat,)}
    )
    store.start(store.request(Action.COMMIT, b""), encode_workload_profile(profile, table.version))


def inflight_insert(table: SmallTable) -> None:
    store = table.timeline_store
    profile = workload_profile(
        FileSizingPlan(partitions=()), load_snapshot(table.storage), WriteOperation.INSERT, {}, None
    )
    store.start(store.request(Action.COMMIT, b""), encode_workload_profile(profile, table.version))


def inflight_overwrite(table: SmallTable) -> None:
    store = table.timeline_store
    profile = workload_profile(
        FileSizingPlan(partitions=()),
        load_snapshot(table.storage),
        WriteOperation.INSERT_OVERWRITE,
        {},
        REPLACED,
    )
    requested = store.request(Action.REPLACE_COMMIT, encode_requested_replace(None))
    store.start(requested, encode_workload_profile(profile, table.version))


def clustering_action(table: SmallTable) -> Action:
    return Action.REPLACE_COMMIT if table.version is TableVersion.V6 else Action.CLUSTERING


def plan_clustering(table: SmallTable) -> Instant:
    piece = ClusteringSlice(file_id=SHARED.file_id, partition_path=SHARED.partition_path)
    plan = ClusteringPlan(groups=(ClusteringGroup(slices=(piece,)),))
    return table.timeline_store.request(clustering_action(table), encode_requested_replace(plan))


def pending_clustering(table: SmallTable) -> None:
    plan_clustering(table)


def inflight_clustering(table: SmallTable) -> None:
    table.timeline_store.start(plan_clustering(table))


def completed_clustering(table: SmallTable) -> None:
    pending = table.timeline_store.start(plan_clustering(table))
    metadata = CommitMetadata(
        operation_type=WriteOperation.CLUSTER,
        partition_to_write_stats={},
        partition_to_replace_file_ids=REPLACED,
    )
    table.timeline_store.complete(pending, encode_commit_metadata(metadata, table.version))


def plan_compaction(table: SmallTable) -> Instant:
    operation = CompactionOperation(
        base_instant_time="20260101000000001", file_id=SHARED.file_id, partition_path=SHARED.partition_path
    )
    content = encode_compaction_plan(CompactionPlan(operations=(operation,)))
    return table.timeline_store.request(Action.COMPACTION, content)


def pending_compaction(table: SmallTable) -> None:
    plan_compaction(table)


def completed_compaction(table: SmallTable) -> None:
    pending = table.timeline_store.start(plan_compaction(table))
    stat = WriteStat(file_id=SHARED.file_id, partition_path=SHARED.partition_path, path="")
    metadata = CommitMetadata(
        operation_type=WriteOperation.COMPACT, partition_to_write_stats={SHARED.partition_path: (stat,)}
    )
    table.timeline_store.complete(pending, encode_commit_metadata(metadata, table.version))


def clean(table: SmallTable) -> None:
    table.timeline_store.complete(table.begin(Action.CLEAN), b"Obj")


def rollback_of_a_pending_write(table: SmallTable) -> None:
    dead = table.begin()
    rollback = table.begin(Action.ROLLBACK)
    table.timeline_store.remove(dead)
    table.timeline_store.complete(rollback, b"Obj")


def rollback_of_a_completed_write(table: SmallTable) -> None:
    newest = table.timeline_store.load().completed_writes[-1]
    rollback = table.begin(Action.ROLLBACK)
    table.timeline_store.remove_completed(newest)
    table.timeline_store.remove(newest)
    table.timeline_store.complete(rollback, b"Obj")


def savepoint(table: SmallTable) -> None:
    store = table.timeline_store
    newest = store.load().completed_writes[-1]
    store.complete(store.begin_savepoint(newest.requested_time), b"Obj")


COMMITS, FAILS, DROPS = "commits", "fails", "drops the file group"

# The columns of a row:
# - the action of the other writer
# - two columns, one for each strategy: the outcome of our write that changes the file group (upsert, delete,
#   insert_overwrite, delete_partition)
# - the outcome of our insert, the same under both strategies
# - the outcome of our clustering of the file group, the same under both strategies
MATRIX: list[tuple[Callable[[SmallTable], None], str, str, str, str]] = [
    (update, FAILS, FAILS, COMMITS, DROPS),
    (insert, COMMITS, COMMITS, COMMITS, COMMITS),
    (overwrite, FAILS, FAILS, COMMITS, DROPS),
    (delete_partition, FAILS, FAILS, COMMITS, DROPS),
    (inflight_update, COMMITS, COMMITS, COMMITS, DROPS),
    (inflight_insert, COMMITS, COMMITS, COMMITS, COMMITS),
    (inflight_overwrite, COMMITS, COMMITS, COMMITS, DROPS),
    (pending_clustering, FAILS, COMMITS, COMMITS, DROPS),
    (inflight_clustering, FAILS, COMMITS, COMMITS, DROPS),
    (completed_clustering, FAILS, FAILS, COMMITS, DROPS),
    (pending_compaction, FAILS, COMMITS, COMMITS, DROPS),
    (completed_compaction, FAILS, FAILS, COMMITS, DROPS),
    (clean, COMMITS, COMMITS, COMMITS, COMMITS),
    (rollback_of_a_pending_write, COMMITS, COMMITS, COMMITS, COMMITS),
    (rollback_of_a_completed_write, FAILS, FAILS, COMMITS, FAILS),
    (savepoint, COMMITS, COMMITS, COMMITS, COMMITS),
]
CASES = pytest.mark.parametrize(
    ("other", "simple", "prefer_writer", "of_insert", "of_clustering"),
    [pytest.param(*row, id=row[0].__name__) for row in MATRIX],
)


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(request: pytest.FixtureRequest) -> SmallTable:
    table = SmallTable(MemoryStorage(uuid4().hex), request.param)
    table.commit(FileGroupId("city=y", "far-0"))
    table.commit(SHARED)
    return table


def outcome_of_write(
    table: SmallTable, before: Timeline, own: set[FileGroupId], strategy: ConflictStrategy
) -> str:
    store, now = table.timeline_store, table.timeline_store.load()
    changes = (*load_commit_changes(store, before, now), *running_writes(store, now))
    return FAILS if find_conflict(changes, own, strategy) else COMMITS


@CASES
def test_our_write_has_the_listed_outcome_after_another_action_on_its_file_group(
    table: SmallTable,
    other: Callable[[SmallTable], None],
    simple: str,
    prefer_writer: str,
    of_insert: str,
    of_clustering: str,
) -> None:
    before = table.timeline_store.load()
    other(table)
    assert outcome_of_write(table, before, {SHARED}, SIMPLE) == simple
    assert outcome_of_write(table, before, {SHARED}, PREFER_WRITER) == prefer_writer
    assert {outcome_of_write(table, before, set(), strategy) for strategy in ConflictStrategy} == {of_insert}


@CASES
def test_our_write_commits_after_another_action_on_another_file_group_unless_a_commit_was_undone(
    table: SmallTable,
    other: Callable[[SmallTable], None],
    simple: str,
    prefer_writer: str,
    of_insert: str,
    of_clustering: str,
) -> None:
    before = table.timeline_store.load()
    other(table)
    # A commit that was undone may have changed rows of any file group.
    expected = FAILS if other is rollback_of_a_completed_write else COMMITS
    for strategy in ConflictStrategy:
        assert outcome_of_write(table, before, {FileGroupId("city=y", "far-0")}, strategy) == expected


@CASES
def test_our_clustering_has_the_listed_outcome_after_another_action(
    table: SmallTable,
    other: Callable[[SmallTable], None],
    simple: str,
    prefer_writer: str,
    of_insert: str,
    of_clustering: str,
) -> None:
    before = table.timeline_store.load()
    other(table)
    store, now = table.timeline_store, table.timeline_store.load()
    changes = (*load_commit_changes(store, before, now), *running_writes(store, now))
    if of_clustering == FAILS:
        assert ChangeKind.UNDONE in {change.kind for change in changes}
    else:
        dropped = groups_to_drop(changes)
        assert (SHARED in dropped) is (of_clustering == DROPS)
        assert FileGroupId("city=y", "far-0") not in dropped


@pytest.mark.parametrize(
    ("other", "expected"),
    [(pending_compaction, COMMITS), (completed_compaction, COMMITS), (update, FAILS)],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_write_that_only_adds_log_files_conflicts_with_writes_and_not_with_compactions(
    table: SmallTable, other: Callable[[SmallTable], None], expected: str
) -> None:
    before = table.timeline_store.load()
    other(table)
    changes = load_commit_changes(table.timeline_store, before, table.timeline_store.load())
    for strategy in ConflictStrategy:
        conflict = find_conflict(changes, {SHARED}, strategy, logged_file_groups={SHARED})
        assert (FAILS if conflict else COMMITS) == expected
