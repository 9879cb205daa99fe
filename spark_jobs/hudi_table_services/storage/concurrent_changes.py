"""Find the changes that other writers made on the timeline while a job was running."""

import logging
from collections.abc import Collection, Iterable

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_restore_metadata,
    decode_rollback_metadata,
    decode_rollback_plan,
)
from hudi_table_services.model.concurrent_change import ChangeKind, ConcurrentChange
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import (
    MOVE_ROWS,
    NEW_FILE_GROUP,
    OVERWRITE,
    REQUEST_ID_KEY,
    CommitMetadata,
    WriteOperation,
    WriteStat,
)
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.pending_plans import planned_file_groups
from hudi_table_services.storage.timeline_store import TimelineStore

_LOG = logging.getLogger(__name__)
_ONCE = (Action.COMMIT, Action.DELTA_COMMIT)
"""Actions whose instants are never executed again after a job has undone them."""


def load_commit_changes(
    store: TimelineStore, before: Timeline, after: Timeline, *, ignore: Collection[str] = ()
) -> tuple[ConcurrentChange, ...]:
    """Return the changes that other writers made between two loads of the timeline.

    Instants are compared by identity, not by time.

    Args:
        before: the timeline that the write was planned with.
        after: the current timeline, loaded under the table lock.
        ignore: requested times of this writer's own instants.
    """
    others = [i for i in after if i.requested_time not in ignore]
    changes = [*load_completed_changes(store, before, Timeline(tuple(others)))]
    for instant in others:
        planned = frozenset() if instant.is_completed else planned_file_groups(store, instant)
        if planned:
            changes.append(
                ConcurrentChange(
                    instant=instant,
                    kind=ChangeKind.PENDING_PLAN,
                    file_groups=planned,
                    compacts=instant.action in (Action.COMPACTION, Action.LOG_COMPACTION),
                )
            )
    return (*changes, *_undone(store, before, after))


def load_completed_changes(
    store: TimelineStore, before: Timeline, after: Timeline
) -> tuple[ConcurrentChange, ...]:
    """Return the writes that became visible between two loads of the timeline."""
    known = {i.identity for i in before.completed_writes}
    return tuple(_completed(store, i) for i in after.completed_writes if i.identity not in known)


def newer_may_be_archived(store: TimelineStore, before: Timeline, after: Timeline) -> bool:
    """Whether a write that was not complete in `before` may have completed and been archived before `after` was loaded.

    If this function returns True, the caller must plan its write again, because the check for conflicts does not read
    archived writes. Archival moves the oldest writes first. So a write that is newer than all writes of `before` can
    have been archived only if the first write of `after` is newer than all writes of `before`.
    """
    newest = max((i.requested_time for i in before if i.action.writes_data), default="")
    return newest < _first_left_by_archival(after) or pending_may_be_archived(store, before, after)


def pending_may_be_archived(store: TimelineStore, before: Timeline, after: Timeline) -> bool:
    """Whether a write that was pending in `before` may have completed and been archived before `after` was loaded."""
    present, first = {i.identity for i in after}, _first_left_by_archival(after)
    pending = [i for i in before.pending if i.action.writes_data and i.identity not in present]
    doubtful = [i for i in pending if i.requested_time < first]
    if not doubtful:
        return False
    undone = frozenset().union(*(times for times in _undone_since(store, before, after) if times is not None))
    # If a clustering execution is undone, its plan stays and can complete later under the same requested time.
    return any(i.action not in _ONCE or i.requested_time not in undone for i in doubtful)


def _first_left_by_archival(timeline: Timeline) -> str:
    """Return the requested time of the first write: archival may have removed only earlier writes.

    The result is empty if no write is completed, because archival keeps at least one completed write.
    """
    return (first_write_time(timeline) or "") if timeline.completed_writes else ""


def _undone(store: TimelineStore, before: Timeline, after: Timeline) -> Iterable[ConcurrentChange]:
    """Yield completed writes of `before` that are missing in `after` although they were not archived.

    If it is unclear whether a write was undone or archived, the write counts as undone.
    """
    present = {i.identity for i in after.completed_writes}
    missing = [i for i in before.completed_writes if i.identity not in present]
    if not missing:
        return
    named = _undone_since(store, before, after)
    archived_before = first_write_time(after) or ""
    for instant in missing:
        # If commits were undone, the first write may be a new commit, so an older write is not necessarily archived.
        is_named = any(times is None or instant.requested_time in times for times in named)
        if is_named or instant.requested_time >= archived_before:
            yield ConcurrentChange(instant=instant, kind=ChangeKind.UNDONE)


def _undone_since(store: TimelineStore, before: Timeline, after: Timeline) -> list[frozenset[str] | None]:
    """Return the result of `_undone_by` for each rollback or restore that was not completed in `before`."""
    known = {i.identity for i in before.completed}
    undos = [i for i in after if i.action in (Action.ROLLBACK, Action.RESTORE) and i.identity not in known]
    return [_undone_by(store, undo) for undo in undos]


def _undone_by(store: TimelineStore, undo: Instant) -> frozenset[str] | None:
    """Return the requested times of the instants that a rollback or restore undoes.

    The result is None if no readable file lists the instants.
    """
    try:
        if undo.action is Action.ROLLBACK and undo.is_completed:
            return frozenset(decode_rollback_metadata(store.read(undo)).commits_rolled_back)
        if undo.action is Action.ROLLBACK:
            target = decode_rollback_plan(store.read_requested(undo)).instant_to_rollback
            return frozenset() if target is None else frozenset({target.requested_time})
        if undo.is_completed:
            return frozenset(decode_restore_metadata(store.read(undo)).instants_rolled_back)
    except (MalformedMetadataError, ObjectNotFoundError) as error:
        _LOG.warning("%s %s cannot be read: %s", undo.action.value, undo.requested_time, error)
    return None


def _completed(store: TimelineStore, instant: Instant) -> ConcurrentChange:
    metadata = store.commit_metadata(instant)
    written = {FileGroupId(stat.partition_path, stat.file_id) for stat in metadata.write_stats}
    replaced = metadata.partition_to_replace_file_ids or {}
    added = [s for s in metadata.write_stats if _may_add_rows(s, metadata)]
    return ConcurrentChange(
        instant=instant,
        kind=ChangeKind.COMPLETED,
        file_groups=frozenset(
            written | {FileGroupId(path, i) for path, ids in replaced.items() for i in ids}
        ),
        added_to=frozenset(
            () if metadata.operation_type in MOVE_ROWS else {stat.partition_path for stat in added}
        ),
        compacts=metadata.operation_type in (WriteOperation.COMPACT, WriteOperation.LOG_COMPACT),
        overwrites=metadata.operation_type in OVERWRITE,
    )


def _may_add_rows(stat: WriteStat, metadata: CommitMetadata) -> bool:
    """Whether a file may have rows with new keys.

    The write stat of a log file of this project counts two kinds of rows as inserts: rows with new keys, which only
    writes with the bucket index add to log files, and rows that an earlier log file has deleted. Hudi's writers with a
    bucket index count new keys in log files as updates, so every log file of Hudi may have new keys.
    """
    is_foreign_log = stat.is_log_file and REQUEST_ID_KEY not in metadata.extra_metadata
    return stat.num_inserts > 0 or stat.prev_commit == NEW_FILE_GROUP or is_foreign_log
