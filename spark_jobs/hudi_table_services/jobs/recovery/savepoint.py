"""Create and delete savepoints. A savepoint protects the files of the table at a commit from cleaning and archival."""

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from hudi_table_services.commits.archive_writing import archive_writer
from hudi_table_services.commits.commit_point import complete
from hudi_table_services.commits.instants import begin_savepoint, remove_archived, remove_savepoints
from hudi_table_services.commits.table_change import NoFiles
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    DeleteSavepointRequest,
    SavepointReport,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.hudi_format.table_service_plans import encode_savepoint_metadata
from hudi_table_services.jobs.archival.checks import barriers
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import SavepointMetadata, SavepointPartition
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.options.archival import DEFAULT_ARCHIVAL
from hudi_table_services.options.timeline_only import ServiceOptions, resolve_service_options
from hudi_table_services.planning.recovery.savepoint_files import savepoint_partitions
from hudi_table_services.planning.recovery.undo_rules import refuse_unfinished_restore
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility, first_write_time
from hudi_table_services.storage.file_versions import partition_files, replacements, visible_times
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.clean_history import last_clean, pending_cleans
from hudi_table_services.tables.snapshots.archived_completions import with_archived_completions
from hudi_table_services.tables.table import TableAccess, check_writable
from hudi_table_services.tables.timeline_edge import hidden_writes, require_nothing_shown
from hudi_table_services.tables.written_files import WrittenFiles

_LOG = logging.getLogger(__name__)


def create_savepoint(
    request: CreateSavepointRequest, *, storage: Storage | None = None, clock: Clock | None = None
) -> JobResult:
    """Create a savepoint of a commit. A second request for the same commit changes nothing.

    Raises:
        InvalidRequestError: the instant is not a completed write of the active timeline, or cleaning may have deleted
            files of the write.
        LockNotAcquiredError: another writer held the lock for too long, or the job lost the lock. If the lock was
            lost, the savepoint may be inflight; a second request completes the savepoint.
    """
    table, options = _open(request, storage, clock)
    lock = table_lock(table.storage, options.lock, table.clock, request.request_id)
    # A preview must not create the lock's file.
    guard: AbstractContextManager[object, None] = nullcontext() if request.preview else lock
    with guard:
        timeline = table.load_timeline()
        refuse_unfinished_restore(timeline)
        commit = _commit(table, timeline, request.instant)
        if (existing := _savepoint(timeline, commit.requested_time)) is not None and existing.is_completed:
            result = _result(request, options, existing, reason="the savepoint already exists")
            return replace(result, reused=True)
        _require_uncleaned(table, timeline, commit)
        pending = Instant(
            requested_time=commit.requested_time, action=Action.SAVEPOINT, state=InstantState.INFLIGHT
        )
        with_it = Timeline.of((*timeline, replace(pending, state=InstantState.COMPLETED)))
        require_nothing_shown(table, timeline, with_it)
        metadata = SavepointMetadata(
            saved_by=request.saved_by,
            saved_at_ms=int(table.clock.now().timestamp() * 1000),
            comments=request.comments,
            partitions=_partitions(table, timeline, commit),
        )
        kept = counted(sum(len(each.file_names) for each in metadata.partitions.values()), "file")
        if request.preview:
            return _previewed(request, options, f"would keep {kept} of commit {commit.requested_time}")
        begin_savepoint(table, commit.requested_time, lock=lock)
        content = encode_savepoint_metadata(metadata, {REQUEST_ID_KEY: request.request_id})
        completed = complete(table, pending, NoFiles(content=content), lock=lock)
    _LOG.info("Savepoint %s keeps %s", completed.requested_time, kept)
    return _result(request, options, completed, reason=f"keeps {kept}")


def delete_savepoint(
    request: DeleteSavepointRequest, *, storage: Storage | None = None, clock: Clock | None = None
) -> JobResult:
    """Delete savepoints. Savepoints that do not exist are ignored.

    If later commits are already archived, the commit of the savepoint is archived too. If this commit stayed, it
    would be the first commit of the active timeline, and readers would not see the files of the archived commits after
    it.

    Raises:
        InvalidRequestError: a commit has to be archived, but archival would make files visible, for example files that
            the commit replaced and that no clean has deleted yet.
    """
    table, options = _open(request, storage, clock)
    lock = table_lock(table.storage, options.lock, table.clock, request.request_id)
    # A preview must not create the lock's file.
    guard: AbstractContextManager[object, None] = nullcontext() if request.preview else lock
    with guard:
        timeline = table.load_timeline()
        found = [_savepoint(timeline, instant) for instant in request.instants]
        deleted = [savepoint for savepoint in found if savepoint is not None]
        names = ", ".join(savepoint.requested_time for savepoint in deleted)
        if request.preview and deleted:
            return _previewed(request, options, f"would delete {names}")
        if not request.preview:
            _archive_stranded(table, lock, timeline, deleted)
            remove_savepoints(table, deleted, lock=lock)
    if not deleted:
        known = ", ".join(i.requested_time for i in timeline.completed if i.action is Action.SAVEPOINT)
        reason = f"no savepoint at {', '.join(request.instants)}; savepoints of the table: {known or 'none'}"
        return _result(request, options, None, reason=reason)
    return _result(request, options, deleted[0], reason=f"deleted {names}")


def _archive_stranded(
    table: TableAccess, lock: TableLock, timeline: Timeline, savepoints: Sequence[Instant]
) -> None:
    """Archive the commits of these savepoints if later commits are archived, so that readers see the same rows."""
    if not hidden_writes(table, timeline, timeline.without(savepoints)):
        return
    saved, first = {i.requested_time for i in savepoints}, first_write_time(timeline) or ""
    stranded = [
        i for i in timeline.completed_writes if i.requested_time in saved and i.requested_time < first
    ]
    if bounds := barriers(table, timeline, stranded):
        raise InvalidRequestError(
            f"Commit {bounds[0].time} must be archived before its savepoint is deleted, but {bounds[0].reason}.",
            hint="Run clean.py first, perhaps with fewer commits to retain.",
        )
    writer = archive_writer(table, DEFAULT_ARCHIVAL)
    held = writer.already_archived(timeline)
    lock.verify()
    if missing := [i for i in stranded if i.identity not in held]:
        writer.write(missing)
    remove_archived(table, stranded, lock=lock)
    _LOG.info("Archived %s with their savepoints", ", ".join(i.requested_time for i in stranded))


def _previewed(request: JobRequest, options: ServiceOptions, reason: str) -> JobResult:
    _LOG.info("Preview: %s", reason)
    return replace(_result(request, options, None, reason=reason), outcome=Outcome.PLANNED)


def _open(
    request: JobRequest, storage: Storage | None, clock: Clock | None
) -> tuple[TableAccess, ServiceOptions]:
    options = resolve_service_options(request)
    storage = storage or open_storage(request.base_path, request.storage_options)
    config = read_table_config(storage)
    check_writable(config, request.table_name, updates_metadata=False, merge_on_read=True)
    return TableAccess(
        storage=storage,
        clock=clock or SystemClock(),
        config=config,
        metadata=options.metadata,
    ), options


def _commit(table: TableAccess, timeline: Timeline, requested_time: str) -> Instant:
    writes = timeline.completed_writes
    if not requested_time and writes:
        return _newest(table, writes)
    found = next((i for i in writes if i.requested_time == requested_time), None)
    if found is None:
        missing = f"no completed write {requested_time}" if requested_time else "no completed write yet"
        raise InvalidRequestError(
            f"The active timeline has {missing}.",
            hint=f"The newest completed writes: {timeline.newest_writes()}.",
        )
    return found


def _newest(table: TableAccess, writes: Sequence[Instant]) -> Instant:
    """Return the write whose savepoint keeps the latest state of the table; see `savepoint_partitions`.

    In a merge-on-read table, this is the write that became visible last, because a delta commit can be requested before
    a compaction and complete after it.
    """
    if table.config.table_type is TableType.MERGE_ON_READ:
        return max(writes, key=lambda i: i.visible_from)
    return writes[-1]


def _savepoint(timeline: Timeline, requested_time: str) -> Instant | None:
    return next((i for i in timeline.find(requested_time) if i.action is Action.SAVEPOINT), None)


def _require_uncleaned(table: TableAccess, timeline: Timeline, commit: Instant) -> None:
    """Raise InvalidRequestError if cleaning may have deleted files of the commit.

    A clean can delete files of all commits before the earliest commit that it retains, except files of the latest
    state. So the newest write needs no check, although after a rollback or a restore it can be older than the earliest
    retained commit.
    """
    if commit == _newest(table, timeline.completed_writes):
        return
    retained = [
        pending.plan.earliest_instant_to_retain.requested_time
        if pending.plan.earliest_instant_to_retain is not None
        else pending.plan.last_completed_commit_time
        for pending in pending_cleans(table, timeline).planned
    ]
    if (before := last_clean(table, timeline)) is not None:
        # A clean that counts file versions kept the state that was the latest when the clean ran. Files of older
        # states may have been deleted.
        retained.append(before.earliest_commit_to_retain or before.last_completed_commit_time)
    newest = max(retained, default="")
    if commit.requested_time < newest:
        raise InvalidRequestError(
            f"Cleaning may have deleted files of commit {commit.requested_time}: it has kept all files only for "
            f"commits from {newest} on.",
            hint=f"Choose a commit that is not earlier than {newest}.",
        )


def _partitions(table: TableAccess, timeline: Timeline, commit: Instant) -> dict[str, SavepointPartition]:
    visible_at = visible_times(table.storage, table.timeline_store, table.config, timeline)
    replaced = replacements(table.timeline_store, timeline, visible_at)
    version = table.config.table_version
    listed = list_partitions(table.storage)
    visibility = with_archived_completions(
        table.storage,
        table.config,
        Visibility.of(timeline, has_own_log_instants=version.has_own_log_instants),
        listed.values(),
    )
    has_logs = table.config.table_type is TableType.MERGE_ON_READ
    found = (
        partition_files(path, files, visibility, replaced, visible_at, with_logs=has_logs)
        for path, files in listed.items()
    )
    if not (has_logs or version.has_own_log_instants):
        return savepoint_partitions(found, commit.requested_time)
    later = _later_files(table, timeline, commit)
    # Table version 6 has no completion times. With an empty `seen_at`, requested times are compared, as in a restore.
    seen_at = commit.completion_time or ""
    return savepoint_partitions(found, commit.requested_time, seen_at=seen_at, later_files=later)


def _later_files(table: TableAccess, timeline: Timeline, commit: Instant) -> frozenset[str]:
    """Return the names of the files that only writes later than the commit have written.

    A restore undoes these writes and deletes the files, so the savepoint must not name them.
    """
    later: set[str] = set()
    earlier: set[str] = set()
    for instant, metadata in WrittenFiles(table.timeline_store).writes(timeline):
        is_later = instant.visible_from > commit.visible_from
        (later if is_later else earlier).update(s.path.rpartition("/")[2] for s in metadata.write_stats)
    return frozenset(later - earlier)


def _result(
    request: JobRequest, options: ServiceOptions, instant: Instant | None, *, reason: str = ""
) -> JobResult:
    return replace(
        JobResult.of(request, Outcome.COMPLETED if instant is not None else Outcome.NOTHING_TO_DO),
        reason=reason,
        action=Action.SAVEPOINT.value if instant is not None else None,
        instant_time=instant.requested_time if instant is not None else None,
        completion_time=instant.completion_time if instant is not None else None,
        report=SavepointReport(),
        warnings=options.warnings,
    )
