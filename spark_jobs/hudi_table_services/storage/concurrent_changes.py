"""What other writers did to the timeline while a job was at work."""

import logging
from collections.abc import Collection, Iterable

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_restore_metadata,
    decode_rollback_metadata,
)
from hudi_table_services.model.concurrent_change import ChangeKind, ConcurrentChange
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import MOVE_ROWS, NEW_FILE_GROUP, OVERWRITE
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.pending_plans import planned_file_groups
from hudi_table_services.storage.timeline_store import TimelineStore

_LOG = logging.getLogger(__name__)


def load_commit_changes(
    store: TimelineStore, before: Timeline, after: Timeline, *, ignore: Collection[str] = ()
) -> tuple[ConcurrentChange, ...]:
    """What other writers did between two views of the timeline, told by identity of instants, not by their times.

    Args:
        before: the timeline that a write planned with.
        after: the timeline now, under the table lock.
        ignore: requested times of this writer's own instants.
    """
    others = [i for i in after if i.requested_time not in ignore]
    changes = [*load_completed_changes(store, before, Timeline(tuple(others)))]
    for instant in others:
        planned = frozenset() if instant.is_completed else planned_file_groups(store, instant)
        if planned:
            changes.append(
                ConcurrentChange(instant=instant, kind=ChangeKind.PENDING_PLAN, file_groups=planned)
            )
    return (*changes, *_undone(store, before, after))


def load_completed_changes(
    store: TimelineStore, before: Timeline, after: Timeline
) -> tuple[ConcurrentChange, ...]:
    """Writes that became visible between two views of the timeline."""
    known = {i.identity for i in before.completed_writes}
    return tuple(_completed(store, i) for i in after.completed_writes if i.identity not in known)


def may_be_archived(unfinished: Iterable[Instant], after: Timeline) -> bool:
    """Whether one of these instants, or a write requested after it, may have left the active timeline by archival.

    Archival takes the oldest writes first, so that it cannot have reached what is not older than the first one left.
    What it may have reached is compared with nothing, so that a write in doubt has to be planned anew.
    """
    oldest = first_write_time(after)
    return oldest is not None and any(instant.requested_time < oldest for instant in unfinished)


def _undone(store: TimelineStore, before: Timeline, after: Timeline) -> Iterable[ConcurrentChange]:
    """Completed writes that are gone, and not because they were archived; in doubt they were undone."""
    present = {i.identity for i in after.completed_writes}
    missing = [i for i in before.completed_writes if i.identity not in present]
    if not missing:
        return
    known = {i.identity for i in before.completed}
    undos = [i for i in after if i.action in (Action.ROLLBACK, Action.RESTORE) and i.identity not in known]
    named = [_undone_by(store, undo) for undo in undos]
    archived_before = first_write_time(after) or ""
    for instant in missing:
        # Once commits were undone, what is older than the first write need not be archived: it may be the next commit.
        is_named = any(times is None or instant.requested_time in times for times in named)
        if is_named or instant.requested_time >= archived_before:
            yield ConcurrentChange(instant=instant, kind=ChangeKind.UNDONE)


def _undone_by(store: TimelineStore, undo: Instant) -> frozenset[str] | None:
    """Requested times of what a rollback or restore undid; None: it is at work, or cannot be read."""
    if not undo.is_completed:
        return None
    try:
        content = store.read(undo)
        if undo.action is Action.ROLLBACK:
            return frozenset(decode_rollback_metadata(content).commits_rolled_back)
        return frozenset(decode_restore_metadata(content).instants_rolled_back)
    except (MalformedMetadataError, ObjectNotFoundError) as error:
        _LOG.warning("%s %s cannot be read: %s", undo.action.value, undo.requested_time, error)
        return None


def _completed(store: TimelineStore, instant: Instant) -> ConcurrentChange:
    metadata = store.commit_metadata(instant)
    written = {FileGroupId(stat.partition_path, stat.file_id) for stat in metadata.write_stats}
    replaced = metadata.partition_to_replace_file_ids or {}
    added = [s for s in metadata.write_stats if s.num_inserts > 0 or s.prev_commit == NEW_FILE_GROUP]
    return ConcurrentChange(
        instant=instant,
        kind=ChangeKind.COMPLETED,
        file_groups=frozenset(
            written | {FileGroupId(path, i) for path, ids in replaced.items() for i in ids}
        ),
        added_to=frozenset(
            () if metadata.operation_type in MOVE_ROWS else {stat.partition_path for stat in added}
        ),
        overwrites=metadata.operation_type in OVERWRITE,
    )
