"""Rollback of delta commits and compactions of merge-on-read tables."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.commits.undo_logs import rollback_block
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import (
    CorruptTableError,
    FileGroupConflictError,
    InstantHeldError,
    InvalidRequestError,
    ObjectNotFoundError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.log_blocks import HeaderKey, decode_blocks
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import (
    decode_rollback_metadata,
    decode_rollback_plan,
    encode_rollback_plan,
)
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import (
    InstantReference,
    RollbackMetadata,
    RollbackPlan,
)
from hudi_table_services.model.table_service_plans import RollbackRequest as PlannedRequest
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.pending_plans import planned_file_paths
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.cleaned_files import conflict_where_cleaned
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.fixed_clock import FixedClock
from support.log_golden import ARCHIVES
from support.with_logs.logged_tables import (
    A,
    B,
    LoggedTable,
    a_logged_table,
    data_block,
    golden_logged_table,
)

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)
LATER = timedelta(days=3)


def undo(table: LoggedTable, *instants: Instant | str, **fields: Any) -> JobResult:
    times = tuple(i if isinstance(i, str) else i.requested_time for i in instants)
    request = RollbackRequest(base_path="/t", instants=times, all_failed=not times, **fields)
    clock = FixedClock(datetime.now(timezone.utc) + LATER, timedelta(milliseconds=1))
    return rollback(request, storage=table.storage, clock=clock)


def metadata_of(table: LoggedTable, result: JobResult) -> RollbackMetadata:
    (instant,) = (i for i in table.timeline_store.load().completed if i.requested_time == result.instant_time)
    return decode_rollback_metadata(table.timeline_store.read(instant))


def pending_delta(table: LoggedTable, *, marks: bool) -> Instant:
    pending = table.begin(Action.DELTA_COMMIT)
    table.write(pending, bases=[B], logs=[A], marks=marks)
    return pending


@VERSIONS
@pytest.mark.parametrize("marks", [True, False], ids=["markers", "no markers"])
def test_a_dead_delta_commit_leaves_no_file(version: TableVersion, marks: bool) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    before, files = table.seen(), table.data_files()
    dead = pending_delta(table, marks=marks)
    assert len(table.data_files()) == len(files) + 2
    assert table.seen() == before
    result = undo(table)
    assert (table.seen(), table.data_files()) == (before, files)
    found = metadata_of(table, result)
    assert found.commits_rolled_back == (dead.requested_time,)
    assert found.total_files_deleted == 2
    assert not list(table.storage.list_files(f".hoodie/.temp/{dead.requested_time}"))


@pytest.mark.parametrize("marks", [True, False], ids=["markers", "no markers"])
def test_a_log_file_that_a_pending_plan_names_gets_a_rollback_block(marks: bool) -> None:
    """In version 6, Hudi plans log files of pending delta commits. Without the file, the plan cannot be executed."""
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    table.delta(logs=[A])
    before = table.seen()
    dead = table.begin(Action.DELTA_COMMIT)
    table.write(dead, logs=[A], marks=marks)
    plan = table.plan_compaction(A)
    planned = planned_file_paths(table.timeline_store, plan)
    undo(table)
    assert planned <= table.data_files()
    assert table.seen() == before
    (block,) = (
        block
        for path in table.data_files() - planned
        for block in decode_blocks(table.storage.read(path))
        if ".log." in path
    )
    assert block.headers[HeaderKey.TARGET_INSTANT_TIME] == dead.requested_time
    assert table.timeline_store.load().pending == (plan,)


def test_a_restore_of_version_6_deletes_the_log_files_of_plans_that_it_undoes() -> None:
    table = a_logged_table(TableVersion.V6)
    saved = table.delta(bases=[A])
    save = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    create_savepoint(save, storage=table.storage, clock=table.clock)
    before = table.data_files()
    table.delta(logs=[A])
    table.plan_compaction(A)
    clock = FixedClock(datetime.now(timezone.utc) + LATER, timedelta(milliseconds=1))
    request = RestoreRequest(base_path="/t", savepoint=saved.requested_time)
    restore(request, storage=table.storage, clock=clock)
    assert table.data_files() == before


@VERSIONS
def test_a_completed_delta_commit_is_undone(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    table.delta(logs=[A, B])
    before, files = table.seen(), table.data_files()
    newest = table.delta(logs=[A])
    preview = undo(table, newest, preview=True)
    assert preview.outcome is Outcome.PLANNED
    assert newest in table.timeline_store.load().completed_writes
    undo(table, newest)
    assert (table.seen(), table.data_files()) == (before, files)
    assert undo(table, newest).reused


@VERSIONS
def test_the_first_delta_commit_of_log_files_only_is_undone(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    before = table.seen()
    newest = table.delta(logs=[B])
    assert "b/f2" in table.seen()
    undo(table, newest)
    assert table.seen() == before


@VERSIONS
def test_delta_commits_are_undone_newest_first(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    before = table.seen()
    first, second = table.delta(logs=[A]), table.delta(logs=[A])
    with pytest.raises(InvalidRequestError, match="not the newest"):
        undo(table, first)
    undo(table, first, second)
    assert table.seen() == before


@VERSIONS
def test_a_running_delta_commit_is_not_undone(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    running = pending_delta(table, marks=True)
    table.storage.write(heartbeat_path(running.requested_time), b"")
    files = table.data_files()
    request = RollbackRequest(base_path="/t", instants=(running.requested_time,))
    with pytest.raises(InstantHeldError):
        rollback(request, storage=table.storage)
    assert table.data_files() == files


@VERSIONS
def test_a_log_file_that_a_rollback_removed_during_a_job_is_a_conflict(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    newest = table.delta(logs=[A])
    before = load_snapshot(table.storage)
    (path,) = (p for p in table.data_files() if ".log." in p)
    undo(table, newest)
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    with (
        pytest.raises(FileGroupConflictError, match=f"Another writer replaced or undid {path}"),
        conflict_where_cleaned(access, lambda: before),
    ):
        raise ObjectNotFoundError("It could not be read.", path=path)


def shared_log(table: LoggedTable) -> tuple[str, Instant, Instant]:
    """A log file to which two delta commits appended, as Hudi before 0.15 did; the second one is pending."""
    table.delta(bases=[A])
    first = table.begin(Action.DELTA_COMMIT)
    stats = table.write(first, logs=[A])
    first = table.finish(first, stats)
    (path,) = (p for p in table.data_files() if ".log." in p)
    second = table.begin(Action.DELTA_COMMIT)
    table.storage.write(path, data_block(first.requested_time) + data_block(second.requested_time))
    return path, first, second


@pytest.mark.parametrize("marker", ["log", "base file", "none"])
def test_blocks_in_a_shared_log_file_are_undone_by_a_rollback_block(marker: str) -> None:
    table = a_logged_table(TableVersion.V6)
    path, first, second = shared_log(table)
    folder, _, name = path.rpartition("/")
    base_time = name.partition("_")[2].partition(".")[0]
    marked = {"log": path, "base file": f"{folder}/f1_7-7-7_{base_time}.parquet"}.get(marker)
    if marked is not None:
        MarkerStore(table.storage, second.requested_time).mark(marked, MarkerKind.APPEND)
    before = table.seen()
    assert before["a/f1"][1] == (first.requested_time,)
    result = undo(table)
    assert table.seen() == before
    written = f"{folder}/.f1_{base_time}.log.2_1-0-1"
    assert table.storage.read(written) == rollback_block(str(result.instant_time), second.requested_time)
    (partition,) = metadata_of(table, result).partitions.values()
    assert partition.deleted_files == ()
    assert {key.rpartition("/")[2]: size for key, size in partition.rollback_log_files.items()} == {
        written.rpartition("/")[2]: 105
    }
    (failed,) = partition.log_files_of_failed_commit
    assert failed.endswith(path)
    # The next writer continues after the rollback block.
    third = table.delta(logs=[A])
    assert table.seen()["a/f1"][1] == (first.requested_time, third.requested_time)


def test_a_completed_delta_commit_in_a_shared_log_file_is_undone() -> None:
    table = a_logged_table(TableVersion.V6)
    path, first, second = shared_log(table)
    before = table.seen()
    stats = table.write(second, logs=[])
    done = table.finish(second, {**stats, "a": (stat_of(path),)})
    assert table.seen()["a/f1"][1] == (first.requested_time, second.requested_time)
    undo(table, done)
    assert table.seen() == before
    assert table.storage.exists(path)


def stat_of(path: str) -> Any:
    from hudi_table_services.model.write_stat import WriteStat

    return WriteStat(file_id="f1", partition_path="a", path=path, num_writes=1, file_size_bytes=1)


def test_a_log_file_of_a_savepoint_stays_and_gets_a_rollback_block() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    saved = table.delta(logs=[A])
    request = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    create_savepoint(request, storage=table.storage, clock=table.clock)
    before = table.seen()
    newest = table.delta(logs=[A])
    (savepoint,) = (i for i in table.timeline_store.load() if i.action is Action.SAVEPOINT)
    # Hudi's savepoint of an older commit can name later log files of the same slice.
    (later,) = (p for p in table.data_files() if p.endswith(".log.2_0-1-0"))
    add_to_savepoint(table, savepoint, later)
    undo(table, newest)
    assert table.storage.exists(later)
    assert table.seen() == before


def add_to_savepoint(table: LoggedTable, savepoint: Instant, path: str) -> None:
    from dataclasses import replace

    from hudi_table_services.hudi_format.table_service_plans import (
        decode_savepoint_metadata,
        encode_savepoint_metadata,
    )

    store = table.timeline_store
    metadata = decode_savepoint_metadata(store.read(savepoint))
    folder, _, name = path.rpartition("/")
    kept = metadata.partitions[folder]
    more = replace(kept, file_names=(*kept.file_names, name))
    content = encode_savepoint_metadata(replace(metadata, partitions={**metadata.partitions, folder: more}))
    table.storage.write(store.path_of(savepoint), content)


def test_rollback_blocks_are_refused_beside_a_metadata_table() -> None:
    table = a_logged_table(TableVersion.V6)
    path, _, second = shared_log(table)
    MarkerStore(table.storage, second.requested_time).mark(path, MarkerKind.APPEND)
    table.storage.write(
        ".hoodie/hoodie.properties",
        table.storage.read(".hoodie/hoodie.properties") + b"hoodie.table.metadata.partitions=files\n",
    )
    files = table.data_files()
    with pytest.raises((UnsupportedTableError, CorruptTableError)):
        undo(table)
    assert table.data_files() == files
    assert second.identity in {i.identity for i in table.timeline_store.load().pending}


def test_a_metadata_table_is_switched_off_before_rollback_blocks_are_written() -> None:
    """The metadata table does not contain the undone write, but it would not list the log file with the block."""
    table = a_logged_table(TableVersion.V6)
    path, _, second = shared_log(table)
    MarkerStore(table.storage, second.requested_time).mark(path, MarkerKind.APPEND)
    table.storage.write(
        ".hoodie/hoodie.properties",
        table.storage.read(".hoodie/hoodie.properties") + b"hoodie.table.metadata.partitions=files\n",
    )
    undo(table, options={"hoodie.metadata.enable": "false"})
    assert any(name.endswith("_1-0-1") for name in table.data_files())
    assert read_table_config(table.storage).metadata_partitions == ()


# Compactions


@VERSIONS
def test_a_completed_compaction_is_undone_and_can_run_again(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    table.delta(logs=[A, B])
    before, files = table.seen(), table.data_files()
    done = table.compact(A, B)
    assert table.seen() != before
    undo(table, done)
    assert (table.seen(), table.data_files()) == (before, files)
    assert not table.timeline_store.load().pending
    table.compact(A, B)
    assert [logs for _, logs in table.seen().values()] == [(), ()]


@VERSIONS
def test_a_compaction_whose_input_was_cleaned_is_not_undone(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    (log,) = (p for p in table.data_files() if ".log." in p)
    done = table.compact(A)
    table.storage.delete(log)
    with pytest.raises(InvalidRequestError, match="no longer has 1 file"):
        undo(table, done)
    assert done in table.timeline_store.load().completed_writes


def test_a_compaction_stays_while_log_files_hang_on_its_slice() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    table.delta(logs=[A])
    early = table.begin(Action.DELTA_COMMIT)  # requested before the compaction, and written after it
    planned = table.plan_compaction(A)
    late = table.finish(early, table.write(early, logs=[A]))
    done = table.run_compaction(planned, A)
    before = table.seen()
    with pytest.raises(UnsupportedTableError, match=late.requested_time):
        undo(table, done)
    assert table.seen() == before


def test_in_version_6_a_write_stays_while_a_write_that_began_earlier_has_log_files_on_its_slices() -> None:
    """A writer of Hudi takes its time before it reads the table."""
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    early = table.begin(Action.DELTA_COMMIT)
    inserted = table.delta(bases=[B])
    table.delta(logs=[B], pending=early)
    before = table.seen()
    with pytest.raises(UnsupportedTableError, match=f"contains rows of {early.requested_time}"):
        undo(table, inserted)
    assert table.seen() == before


@VERSIONS
def test_delta_commits_after_a_compaction_are_undone_with_it(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    before, files = table.seen(), table.data_files()
    planned = table.plan_compaction(A)
    later = table.delta(logs=[A])
    done = table.run_compaction(planned, A)
    undo(table, done, later)
    assert (table.seen(), table.data_files()) == (before, files)


@VERSIONS
def test_a_pending_compaction_is_no_failed_write(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    newest = table.delta(logs=[A])
    planned = table.plan_compaction(A)
    assert undo(table).outcome is Outcome.NOTHING_TO_DO
    with pytest.raises(InvalidRequestError, match="plan of a table service"):
        undo(table, planned)
    with pytest.raises(InvalidRequestError):
        undo(table, newest)
    assert len(table.seen()["a/f1"][1]) == 1


def test_a_died_rollback_of_a_compaction_is_finished() -> None:
    table = a_logged_table()
    table.delta(bases=[A])
    table.delta(logs=[A])
    before = table.seen()
    done = table.compact(A)
    (path,) = (p for p in table.data_files() if done.requested_time in p)
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=done.requested_time, action="commit"),
        requests=(PlannedRequest(partition_path="a", files_to_delete=(f"/t/{path}",)),),
    )
    store = table.timeline_store
    store.start(store.request(Action.ROLLBACK, encode_rollback_plan(plan)))
    store.remove_completed(done)
    undo(table)
    assert table.seen() == before
    assert not store.load().pending


def test_in_version_6_a_died_rollback_of_a_compaction_is_given_up_if_log_files_hang_on_its_slice() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    table.delta(logs=[A])
    done = table.compact(A)
    (path,) = (p for p in table.data_files() if done.requested_time in p)
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=done.requested_time, action="commit"),
        requests=(PlannedRequest(partition_path="a", files_to_delete=(f"/t/{path}",)),),
    )
    store = table.timeline_store
    store.start(store.request(Action.ROLLBACK, encode_rollback_plan(plan)))
    store.remove_completed(done)
    table.delta(
        logs=[A]
    )  # another writer adds a log file to the slice of the compaction, which is pending again
    before = table.seen()
    assert len(before["a/f1"][1]) == 2
    undo(table)
    assert table.seen() == before
    (pending,) = store.load().pending
    table.run_compaction(pending, A)
    assert len(table.seen()["a/f1"][1]) == 1


def test_a_rollback_of_a_pending_compaction_by_hudi_is_left_to_the_compaction() -> None:
    """The plan of the compaction must stay: log files of table version 6 hang on it."""
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    table.delta(logs=[A])
    planned = table.timeline_store.start(table.plan_compaction(A))
    table.delta(logs=[A])
    before = table.seen()
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=planned.requested_time, action="compaction")
    )
    table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))
    undo(table)
    assert table.seen() == before
    assert planned.identity in {i.identity for i in table.timeline_store.load().pending}


# Tables of real Hudi


@pytest.mark.parametrize("version", ARCHIVES, ids=str)
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_the_newest_delta_commit_of_real_hudi_is_undone(version: TableVersion, name: str) -> None:
    table = golden_logged_table(version, name)
    newest = table.timeline_store.load().completed_writes[-1]
    ((group, (base, blocks)),) = table.seen().items()
    assert blocks[-1] == newest.requested_time
    count = len(table.data_files())
    undo(table, newest)
    assert table.seen() == {group: (base, tuple(t for t in blocks if t != newest.requested_time))}
    assert len(table.data_files()) == count - 1


@pytest.mark.parametrize("version", ARCHIVES, ids=str)
def test_a_log_compaction_of_real_hudi_is_undone(version: TableVersion) -> None:
    table = golden_logged_table(version, "compacted_logs")
    writes = table.timeline_store.load().completed_writes
    undo(table, writes[-1], writes[-2])
    ((_, (_, blocks)),) = table.seen().items()
    assert writes[-2].requested_time not in blocks
    assert {writes[-3].requested_time, writes[-4].requested_time} <= set(blocks)


def test_a_rollback_block_has_the_bytes_of_real_hudi() -> None:
    table = golden_logged_table(TableVersion.V6, "updates")
    (path,) = (p for p in table.data_files() if p.endswith(".log.6_1-0-1"))
    written, ours = table.storage.read(path), rollback_block("20261125200741326", "20261125200726148")
    # Hudi writes the headers in no fixed order.
    assert (len(ours), list(decode_blocks(ours))) == (len(written), list(decode_blocks(written)))


def test_a_rollback_that_real_hudi_began_is_finished() -> None:
    table = golden_logged_table(TableVersion.V6, "updates")
    store, before = table.timeline_store, table.seen()
    (rolled,) = (i for i in store.load() if i.action is Action.ROLLBACK)
    plan = decode_rollback_plan(store.read_requested(rolled))
    assert plan.requests[0].log_blocks_to_delete
    store.remove_completed(rolled)
    (block,) = (p for p in table.data_files() if p.endswith("_1-0-1"))
    (undone,) = (p for p in table.data_files() if ".log.5_" in p)
    table.storage.delete(block)
    result = undo(table)
    assert result.report is not None
    assert result.report.finished == (rolled.requested_time,)  # type: ignore[attr-defined]
    assert table.seen() == before
    assert not table.storage.exists(undone)
    done = next(i for i in store.load().completed if i.identity == rolled.identity)
    (partition,) = decode_rollback_metadata(store.read(done)).partitions.values()
    assert [p.rpartition("/")[2] for p in partition.deleted_files] == [undone.rpartition("/")[2]]


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=str)
def test_a_stored_plan_that_deletes_other_log_files_is_refused(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    first = table.delta(logs=[A])
    dead = pending_delta(table, marks=True)
    (log,) = (p for p in table.data_files() if ".log." in p and not is_written_by(table, p, dead))
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=dead.requested_time, action="deltacommit"),
        requests=(PlannedRequest(partition_path="a", files_to_delete=(f"/t/{log}",)),),
    )
    table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))
    with pytest.raises(CorruptTableError, match="nothing was deleted"):
        undo(table)
    assert table.seen()["a/f1"][1] == (first.requested_time,)


def is_written_by(table: LoggedTable, path: str, instant: Instant) -> bool:
    return instant.requested_time.encode() in table.storage.read(path)
