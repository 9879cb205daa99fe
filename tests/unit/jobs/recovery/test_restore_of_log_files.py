"""Savepoints of merge-on-read tables, and restores to them."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_restore_metadata,
    decode_savepoint_metadata,
    encode_savepoint_metadata,
)
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from support.fixed_clock import FixedClock
from support.log_golden import ARCHIVES
from support.with_logs.logged_tables import A, B, LoggedTable, a_logged_table, golden_logged_table

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)


def save(table: LoggedTable, commit: Instant) -> set[str]:
    """Create a savepoint. Returns the paths of the files that it keeps."""
    request = CreateSavepointRequest(base_path="/t", instant=commit.requested_time)
    create_savepoint(request, storage=table.storage, clock=table.clock)
    (savepoint,) = (i for i in table.timeline_store.load() if i.action is Action.SAVEPOINT)
    kept = decode_savepoint_metadata(table.timeline_store.read(savepoint)).partitions
    return {f"{path}/{name}" for path, each in kept.items() for name in each.file_names}


def restored(table: LoggedTable, commit: Instant, **fields: Any) -> JobResult:
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=4), timedelta(milliseconds=1))
    request = RestoreRequest(base_path="/t", savepoint=commit.requested_time, **fields)
    return restore(request, storage=table.storage, clock=clock)


@VERSIONS
def test_a_savepoint_names_base_files_and_log_files(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    saved = table.delta(logs=[A])
    files = table.data_files()
    assert save(table, saved) == files


@VERSIONS
def test_a_savepoint_of_an_older_commit_does_not_name_later_log_files(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    saved = table.delta(logs=[A])
    files = table.data_files()
    table.delta(logs=[A, B])
    assert save(table, saved) == files


@VERSIONS
def test_a_restore_returns_the_table_to_the_savepoint(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    saved = table.delta(logs=[A])
    save(table, saved)
    before, files = table.seen(), table.data_files()
    table.delta(logs=[A, B])
    table.compact(A)
    table.delta(bases=[FileGroupId("c", "f5")], logs=[A])
    table.plan_compaction(A, B)
    table.delta(logs=[B])
    dead = table.begin(Action.DELTA_COMMIT)
    table.write(dead, logs=[A], marks=True)
    preview = restored(table, saved, preview=True)
    assert preview.outcome is Outcome.PLANNED
    result = restored(table, saved)
    assert table.seen() == before
    assert table.data_files() == files
    timeline = table.timeline_store.load()
    assert (timeline.completed_writes[-1], timeline.pending) == (saved, ())
    done = next(i for i in timeline.completed if i.requested_time == result.instant_time)
    metadata = decode_restore_metadata(table.timeline_store.read(done))
    assert len(metadata.instants_rolled_back) == 6
    assert restored(table, saved, request_id="again").outcome is Outcome.NOTHING_TO_DO


@VERSIONS
def test_a_restored_table_can_be_written_and_compacted(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    saved = table.delta(logs=[A])
    save(table, saved)
    table.delta(logs=[A])
    table.compact(A)
    restored(table, saved)
    table.clock.moment = datetime.now(timezone.utc) + timedelta(days=5)
    later = table.delta(logs=[A])
    assert table.seen()["a/f1"][1] == (saved.requested_time, later.requested_time)
    table.compact(A)
    assert table.seen()["a/f1"][1] == ()


@VERSIONS
def test_a_clean_keeps_the_files_that_a_restore_needs(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    saved = table.delta(logs=[A])
    save(table, saved)
    before, files = table.seen(), table.data_files()
    for _ in range(3):
        table.delta(logs=[A])
        table.compact(A)
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=2))
    request = CleanRequest(base_path="/t", file_versions_retained=1)
    clean(request, storage=table.storage, clock=clock)
    # The later log file of the savepoint's slice stays too, because a clean deletes only whole slices.
    assert len(table.data_files()) == len(files) + 2
    restored(table, saved)
    assert (table.seen(), table.data_files()) == (before, files)


def overlapping(version: TableVersion) -> tuple[LoggedTable, Instant, Instant, dict[str, Any]]:
    """A compaction that began before the commit `saved` and completed after it."""
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    planned = table.plan_compaction(A)
    saved = table.delta(logs=[A])
    before = table.seen()
    done = table.run_compaction(planned, A)
    return table, saved, done, before


@VERSIONS
def test_a_savepoint_keeps_the_input_of_a_compaction_that_completed_later(version: TableVersion) -> None:
    table, saved, done, before = overlapping(version)
    save(table, saved)
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=2))
    table.delta(logs=[A])
    seen = table.seen()
    request = CleanRequest(base_path="/t", file_versions_retained=1)
    clean(request, storage=table.storage, clock=clock)
    assert table.seen() == seen
    restored(table, saved)
    if version is TableVersion.V6:
        # Requested times decide, as in Hudi 0.15, so the compaction stays. It changed no rows.
        assert done in table.timeline_store.load().completed_writes
        assert table.seen()["a/f1"][1] == (saved.requested_time,)
    else:
        assert table.seen() == before


def test_a_restore_is_refused_if_the_input_of_a_compaction_that_completed_later_was_cleaned() -> None:
    table, saved, _, _ = overlapping(TableVersion.V9)
    kept = save(table, saved)
    (savepoint,) = (i for i in table.timeline_store.load() if i.action is Action.SAVEPOINT)
    store = table.timeline_store
    metadata = decode_savepoint_metadata(store.read(savepoint))
    (partition,) = metadata.partitions.values()
    (base,) = (name for name in partition.file_names if name.endswith(".parquet"))
    (newer,) = (p for p in table.data_files() if p.endswith(".parquet") and not p.endswith(base))
    # Hudi's savepoint names the base file of the compaction instead of the older one.
    names = (*(n for n in partition.file_names if n != base), newer.rpartition("/")[2])
    content = encode_savepoint_metadata(
        replace(metadata, partitions={"a": replace(partition, file_names=names)})
    )
    table.storage.write(store.path_of(savepoint), content)
    table.storage.delete(f"a/{base}")
    files = table.data_files()
    assert f"a/{base}" in kept
    with pytest.raises(InvalidRequestError, match="cannot be undone"):
        restored(table, saved)
    assert table.data_files() == files


def test_a_restore_is_refused_while_log_files_of_kept_writes_depend_on_a_compaction() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    table.delta(logs=[A])
    early = table.begin(Action.DELTA_COMMIT)
    saved = table.delta(logs=[B])
    planned = table.plan_compaction(A)
    table.finish(
        early, table.write(early, logs=[A])
    )  # requested before the commit, on the slice of the compaction
    table.run_compaction(planned, A)
    save(table, saved)
    before = table.seen()
    with pytest.raises(UnsupportedTableError, match=early.requested_time):
        restored(table, saved)
    assert table.seen() == before


def overtaken(version: TableVersion, *, completes: bool) -> tuple[LoggedTable, Instant]:
    """A delta commit whose log file belongs to the slice of a compaction that was requested during the delta commit.

    Args:
        completes: whether the compaction completed before the delta commit, or after it.
    """
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    table.delta(logs=[A])
    early = table.begin(Action.DELTA_COMMIT)
    planned = table.plan_compaction(A)
    if completes:
        table.run_compaction(planned, A)
    stats = table.write(early, logs=[A])
    saved = table.finish(early, stats)
    if not completes:
        table.run_compaction(planned, A)
    return table, saved


def cleaned(table: LoggedTable) -> None:
    """Write, compact and clean, so that only the files of savepoints and of the latest slices are left."""
    for _ in range(2):
        table.delta(logs=[A, B])
        table.compact(A, B)
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=2))
    clean(CleanRequest(base_path="/t", file_versions_retained=1), storage=table.storage, clock=clock)


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=lambda v: v.name)
@pytest.mark.parametrize("is_named", [True, False], ids=["named", "newest"])
def test_a_savepoint_keeps_a_log_file_in_the_slice_of_a_compaction_that_was_requested_later(
    version: TableVersion, is_named: bool
) -> None:
    table, saved = overtaken(version, completes=True)
    before = table.seen()
    assert before["a/f1"][1] == (saved.requested_time,)
    if is_named:
        save(table, saved)
    else:
        result = create_savepoint(
            CreateSavepointRequest(base_path="/t"), storage=table.storage, clock=table.clock
        )
        assert result.instant_time == saved.requested_time
    cleaned(table)
    assert table.seen() != before
    restored(table, saved)
    assert table.seen() == before


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=lambda v: v.name)
def test_a_savepoint_keeps_the_input_of_a_compaction_that_began_during_its_commit(
    version: TableVersion,
) -> None:
    table, saved = overtaken(version, completes=False)
    assert table.seen()["a/f1"][1] == (saved.requested_time,)
    save(table, saved)
    cleaned(table)
    restored(table, saved)
    first, second = table.timeline_store.load().completed_writes[:2]
    assert table.seen()["a/f1"] == (
        f"f1_0-1-0_{first.requested_time}.parquet",
        (second.requested_time, saved.requested_time),
    )


def test_a_restore_is_refused_if_a_log_file_that_was_requested_after_the_savepoint_is_missing() -> None:
    table = a_logged_table(TableVersion.V9)
    table.delta(bases=[A, B])
    early = table.begin(Action.DELTA_COMMIT)
    later = table.delta(logs=[B])
    saved = table.finish(early, table.write(early, logs=[A]))
    kept = save(table, saved)
    (log,) = (path for path in kept if later.requested_time in path)
    table.delta(logs=[A])
    table.storage.delete(log)
    with pytest.raises(InvalidRequestError, match="lacks 1 file"):
        restored(table, saved)


@pytest.mark.parametrize("version", ARCHIVES, ids=str)
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
@pytest.mark.parametrize("place", [0, 1, 2, 3, -2])
def test_tables_of_real_hudi_are_restored(version: TableVersion, name: str, place: int) -> None:
    table = golden_logged_table(version, name)
    writes = table.timeline_store.load().completed_writes
    saved = writes[place]
    ((group, (base, _)),) = table.seen().items()
    save(table, saved)
    restored(table, saved)
    kept = {i.requested_time for i in writes if i.requested_time <= saved.requested_time}
    ((same, (same_base, blocks)),) = table.seen().items()
    assert (same, same_base) == (group, base)
    assert set(blocks) <= kept
    assert table.timeline_store.load().completed_writes[-1] == saved
    # The first write wrote the base file. Blocks that a log compaction replaced are not valid any more.
    log_writers = [i.requested_time for i in writes if i.requested_time in kept][1:]
    assert not log_writers or log_writers[-1] in blocks
