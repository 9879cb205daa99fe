"""Writes to log files while compactions, clusterings and other writes of the same file groups are pending or complete.

Another writer acts before the write, or right before the write creates its first log file or base file.
"""

from pathlib import Path

import pytest

from hudi_table_services.errors import FileGroupConflictError, PendingPlanError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import (
    encode_compaction_plan,
    encode_requested_replace,
)
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import (
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
    CompactionOperation,
    CompactionPlan,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from support.compaction.jobs_here import execute, schedule
from support.spark.log_tables import LogTable, Row, new_log_table
from support.spark.storage_with_other_writer import StorageWithOtherWriter

OLD: list[Row] = [(f"k{i}", 1, "ab"[i % 2], "old") for i in range(6)]
FIRST: list[Row] = [("k0", 2, "a", "first")]
SECOND: list[Row] = [("k0", 3, "a", "second"), ("k2", 3, "a", "second")]
AFTER_SECOND = sorted([*SECOND, *(row for row in OLD if row[0] not in ("k0", "k2"))])
NO_RETRY = {"hoodie.write.num.retries.on.conflict.failures": "0"}


@pytest.fixture(params=[6, 9])
def version(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def table(tmp_path: Path, version: int) -> LogTable:
    """A table whose slice in `a` has a log file."""
    made = new_log_table(tmp_path / "t", version)
    made.write(OLD)
    made.write(FIRST)
    return made


def compaction_of(file_slice: FileSlice) -> bytes:
    base = file_slice.base_file
    assert base is not None
    operation = CompactionOperation(
        base_instant_time=base.instant_time,
        file_id=base.file_id,
        partition_path=file_slice.file_group_id.partition_path,
        data_file_path=base.file_name,
        delta_file_paths=tuple(log.file_name for log in file_slice.log_files),
        metrics={"TOTAL_IO_MB": 1.0},
    )
    return encode_compaction_plan(CompactionPlan(operations=(operation,)))


def schedule_compaction(table: LogTable, partition: str = "a") -> Instant:
    return table.timeline_store.request(Action.COMPACTION, compaction_of(table.slice_of(partition)))


def names(table: LogTable, partition: str = "a") -> list[tuple[str, int]]:
    return [(log.instant_time, log.version) for log in table.slice_of(partition).log_files]


def test_a_write_adds_log_files_to_a_file_group_of_a_pending_compaction(
    table: LogTable, version: int
) -> None:
    base = table.slice_of("a").base_instant_time
    plan = schedule_compaction(table)
    table.write(SECOND[:1])
    table.write(SECOND)
    own = [i.requested_time for i in table.timeline_store.load().completed_writes[1:]]
    if version == 6:
        time = plan.requested_time
        assert names(table) == [(base, 1), (time, 1), (time, 2)]
        (stat,) = table.log_stats()
        assert (stat.prev_commit, stat.extra["baseFile"]) == (time, "")
        assert len(stat.extra["logFiles"]) == 2  # type: ignore[arg-type]
    else:
        assert names(table) == [(time, 1) for time in own]
    assert [i.action for i in table.timeline_store.load().pending] == [Action.COMPACTION]


def test_new_keys_do_not_pad_a_file_group_of_a_pending_compaction(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version)
    table.write(OLD)
    group = table.slice_of("a").file_group_id
    schedule_compaction(table)
    table.write([("n", 2, "a", "inserted"), *SECOND])
    by_group = {s.file_group_id: s for s in table.slices() if s.file_group_id.partition_path == "a"}
    assert len(by_group) == 2
    assert len(by_group[group].log_files) == 1


def test_in_version_6_a_compaction_that_is_scheduled_during_a_write_is_a_conflict(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 6)
    table.write(OLD)
    table.write(FIRST)
    before = names(table)
    # The name of the new log file would put it into the slice before the compaction, which does not read it.
    with pytest.raises(FileGroupConflictError, match="scheduled compaction"):
        table.write(
            SECOND,
            storage=StorageWithOtherWriter(table.storage, act=lambda: schedule_compaction(table)),
            options=NO_RETRY,
        )
    assert table.leftovers() == set()
    assert names(table) == before


def test_in_version_6_a_compaction_that_is_removed_during_a_write_is_a_conflict(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 6)
    table.write(OLD)
    table.write(FIRST)
    plan = schedule_compaction(table)
    before = names(table)
    # The name of the new log file contains the time of the plan, so without the plan no reader sees the log file.
    with pytest.raises(FileGroupConflictError, match=f"removed {plan.requested_time}"):
        table.write(
            SECOND,
            storage=StorageWithOtherWriter(table.storage, act=lambda: table.timeline_store.remove(plan)),
            options=NO_RETRY,
        )
    assert table.leftovers() == set()
    assert names(table) == before


def test_in_version_6_a_write_repeats_with_another_name_when_its_compaction_was_removed(
    tmp_path: Path,
) -> None:
    table = new_log_table(tmp_path / "t", 6)
    table.write(OLD)
    table.write(FIRST)
    base = table.slice_of("a").base_instant_time
    plan = schedule_compaction(table)
    table.write(
        SECOND, storage=StorageWithOtherWriter(table.storage, act=lambda: table.timeline_store.remove(plan))
    )
    assert names(table) == [(base, 1), (base, 2)]


def test_in_version_6_a_compaction_that_completes_during_a_write_is_no_conflict(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 6)
    table.write(OLD)
    table.write(FIRST)
    plan = schedule_compaction(table)
    table.write(
        SECOND, storage=StorageWithOtherWriter(table.storage, act=lambda: complete_compaction(table, plan))
    )
    assert names(table) == [(plan.requested_time, 1)]


def complete_compaction(table: LogTable, plan: Instant) -> None:
    """Complete a compaction with a copy of the base file, which is enough for a test of names."""
    before = table.slice_of("a")
    assert before.base_file is not None
    new = before.base_file._replace(instant_time=plan.requested_time, write_token="9-9-9")
    path = f"a/{new.file_name}"
    table.storage.write(path, table.storage.read(before.base_file_path or ""))
    stat = WriteStat(file_id=new.file_id, partition_path="a", path=path, prev_commit=before.base_instant_time)
    metadata = CommitMetadata(
        operation_type=WriteOperation.COMPACT, partition_to_write_stats={"a": (stat,)}, compacted=True
    )
    store = table.timeline_store
    content = encode_commit_metadata(metadata, TableVersion.V6)
    store.complete(store.start(plan), content)


def test_a_write_repeats_with_another_name_when_a_compaction_was_scheduled(
    table: LogTable, version: int
) -> None:
    table.write(SECOND, storage=StorageWithOtherWriter(table.storage, act=lambda: schedule_compaction(table)))
    plan = table.timeline_store.load().pending[0].requested_time
    assert (names(table)[-1][0] == plan) is (version == 6)
    assert table.leftovers() == set()


def test_a_second_write_of_the_same_slice_is_repeated_on_top_of_the_first(table: LogTable) -> None:
    other = LogTable(table.base_path, {**table.options, **NO_RETRY})
    acted: list[str] = []

    def act() -> None:
        try:
            other.write([("k0", 9, "a", "other")])
            acted.append("written")
        except FileGroupConflictError:
            acted.append("refused")

    table.write(SECOND, storage=StorageWithOtherWriter(table.storage, act=act))
    expected = ("k0", 9, "a", "other") if acted == ["written"] else SECOND[0]
    assert table.rows() == sorted([expected, *AFTER_SECOND[1:]])
    # Version 6: two open writes of one slice are not allowed, so the second one is refused before it writes a log file.
    assert acted == (["refused"] if "6" in table.options["hoodie.write.table.version"] else ["written"])


def test_an_optimistic_conflict_is_reported_without_retries(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 9)
    table.write(OLD)
    other = LogTable(table.base_path, table.options)
    storage = StorageWithOtherWriter(table.storage, act=lambda: other.write([("k0", 9, "a", "other")]))
    with pytest.raises(FileGroupConflictError, match="changed file groups that this write changes too"):
        table.write(SECOND, storage=storage, options=NO_RETRY)
    assert table.leftovers() == set()
    assert ("k0", 9, "a", "other") in table.rows()


def test_writes_of_different_slices_do_not_conflict(table: LogTable) -> None:
    other = LogTable(table.base_path, {**table.options, **NO_RETRY})
    storage = StorageWithOtherWriter(table.storage, act=lambda: other.write([("k1", 9, "b", "other")]))
    table.write(SECOND, storage=storage, options=NO_RETRY)
    assert table.rows() == sorted([("k1", 9, "b", "other"), *(r for r in AFTER_SECOND if r[0] != "k1")])


def test_in_version_6_a_pending_delta_commit_of_another_writer_is_refused(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 6, hoodie__cleaner__policy__failed__writes="LAZY")
    table.write(OLD)
    store, current = table.timeline_store, table.slice_of("a")
    requested = store.request(Action.DELTA_COMMIT, b"")
    profile = CommitMetadata(
        operation_type=WriteOperation.UPSERT,
        partition_to_write_stats={
            "a": (
                WriteStat(
                    file_id=current.file_group_id.file_id,
                    partition_path="a",
                    path="",
                    prev_commit=current.base_instant_time,
                    num_update_writes=1,
                ),
            )
        },
    )
    table.storage.write(heartbeat_path(requested.requested_time), b"another writer")
    store.start(requested, encode_commit_metadata(profile, TableVersion.V6))
    with pytest.raises(FileGroupConflictError, match=f"pending deltacommit {requested.requested_time}"):
        table.write(SECOND, options=NO_RETRY)
    table.write([("k1", 2, "b", "other slice")], options=NO_RETRY)
    assert not current.log_files
    assert ("k1", 2, "b", "other slice") in table.rows()


@pytest.mark.parametrize(
    "content", [None, b"", b"{}", b"not json"], ids=["requested", "empty", "none", "damaged"]
)
def test_in_version_6_a_pending_delta_commit_that_names_no_file_groups_is_refused(
    tmp_path: Path, content: bytes | None
) -> None:
    """Flink writes no workload profile. It may add a block with a later instant, where Hudi 0.15 stops reading."""
    table = new_log_table(tmp_path / "t", 6, hoodie__cleaner__policy__failed__writes="LAZY")
    table.write(OLD)
    store = table.timeline_store
    foreign = store.request(Action.DELTA_COMMIT, b"")
    table.storage.write(heartbeat_path(foreign.requested_time), b"")
    if content is not None:
        store.start(foreign, content)
    with pytest.raises(FileGroupConflictError, match=f"{foreign.requested_time} names no file groups"):
        table.write(SECOND, options=NO_RETRY)
    table.write([("n", 2, "c", "adds no log file")], options=NO_RETRY)
    assert not table.slice_of("a").log_files


def test_in_version_6_a_requested_delta_commit_of_this_project_is_allowed(tmp_path: Path) -> None:
    """Its writer checks the file groups of this write before it writes a log file."""
    table = new_log_table(tmp_path / "t", 6, hoodie__cleaner__policy__failed__writes="LAZY")
    table.write(OLD)
    other = table.timeline_store.request(Action.DELTA_COMMIT, b"")
    table.storage.write(heartbeat_path(other.requested_time), b"another request")
    table.write(SECOND, options=NO_RETRY)
    assert len(table.slice_of("a").log_files) == 1


def test_a_completed_compaction_during_a_write_is_no_conflict_for_its_log_file(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 9)
    table.write(OLD)
    table.write(FIRST)
    current = table.slice_of("a")

    def compact() -> None:
        """Complete a compaction. Its base file lacks the row of the log file, which the write replaces anyway."""
        store, base = table.timeline_store, current.base_file
        assert base is not None
        plan = store.request(Action.COMPACTION, compaction_of(current))
        started = store.start(plan)
        path = f"a/{base.file_id}_9-9-9_{plan.requested_time}.parquet"
        table.storage.write(path, table.storage.read(f"a/{base.file_name}"))
        stat = WriteStat(
            file_id=base.file_id,
            partition_path="a",
            path=path,
            prev_commit=base.instant_time,
            num_writes=3,
            file_size_bytes=table.storage.size(path),
        )
        done = CommitMetadata(
            operation_type=WriteOperation.COMPACT,
            partition_to_write_stats={"a": (stat,)},
            compacted=True,
        )
        store.complete(started, encode_commit_metadata(done, TableVersion.V9))

    table.write(SECOND, storage=StorageWithOtherWriter(table.storage, act=compact), options=NO_RETRY)
    after = table.slice_of("a")
    assert after.base_instant_time > current.base_instant_time
    assert len(after.log_files) == 1, "the log file of the write belongs to the new slice"
    assert table.rows() == AFTER_SECOND


def with_planned_compaction(base_path: Path, version: int) -> LogTable:
    """A table with a pending compaction whose base file will lack the key k0. New rows are not added to small files."""
    table = new_log_table(base_path, version, hoodie__parquet__small__file__limit="0")
    table.write(OLD)
    table.write([("k0", 2, "a", None)], "delete")
    schedule(table.storage, SystemClock())
    assert [i.action for i in table.timeline_store.load().pending] == [Action.COMPACTION]
    return table


def test_a_deleted_row_is_not_inserted_again_below_a_compaction_that_completed_during_the_write(
    tmp_path: Path, version: int
) -> None:
    """The base file of the compaction lacks the key, so the next write inserts the key into another file group."""
    table = with_planned_compaction(tmp_path / "t", version)
    other = LogTable(table.base_path, table.options)

    def compact_and_insert() -> None:
        execute(table.storage, SystemClock())
        other.write([("k0", 3, "a", "other")])

    result = table.write(
        [("k0", 4, "a", "again")], storage=StorageWithOtherWriter(table.storage, act=compact_and_insert)
    )
    assert (result.rows.updated, result.rows.inserted) == (1, 0)
    assert table.rows() == sorted([("k0", 4, "a", "again"), *OLD[1:]])


def test_a_deleted_row_that_is_inserted_again_during_a_compaction_goes_to_a_base_file(
    tmp_path: Path, version: int
) -> None:
    table = with_planned_compaction(tmp_path / "t", version)
    again: list[Row] = [("k0", 4, "a", "again")]
    storage = StorageWithOtherWriter(table.storage, act=lambda: execute(table.storage, SystemClock()))
    with pytest.raises(FileGroupConflictError, match="changed file groups that this write changes too"):
        table.write(again, storage=storage, options=NO_RETRY)
    result = table.write(again)
    # Hudi looks for keys in base files only.
    assert (result.rows.updated, result.rows.inserted) == (0, 1)
    assert table.rows() == sorted([*again, *OLD[1:]])


def test_a_write_into_a_pending_clustering_is_refused_as_for_copy_on_write(
    table: LogTable, version: int
) -> None:
    current = table.slice_of("a")
    base = current.base_file
    assert base is not None
    part = ClusteringSlice(
        file_id=base.file_id, partition_path="a", data_file_path=f"{table.base_path}/a/{base.file_name}"
    )
    plan = ClusteringPlan(groups=(ClusteringGroup(slices=(part,)),))
    store = table.timeline_store
    action = Action.REPLACE_COMMIT if version == 6 else Action.CLUSTERING
    store.request(action, encode_requested_replace(plan))
    reject = {"hoodie.clustering.updates.strategy": "SparkRejectUpdateStrategy"}
    with pytest.raises(PendingPlanError, match="pending clustering"):
        table.write(SECOND, options=reject)
