"""Find the instants that rollbacks and restores of the active timeline undid, and why."""

import logging
from dataclasses import dataclass

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_restore_metadata,
    decode_restore_plan,
    decode_rollback_metadata,
    decode_rollback_plan,
    decode_undo_note,
)
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import InstantReference, UndoReason
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)

_REASONS = {
    UndoReason.DEAD_WRITER: "the writer died",
    UndoReason.EARLIER_ATTEMPT: "an earlier attempt of a request that ran again",
    UndoReason.FAILED_JOB: "the job failed",
    UndoReason.INTERRUPTED_JOB: "the job was interrupted",
    UndoReason.ASKED_FOR: "a user requested the rollback",
    UndoReason.CANCELLED_PLAN: "the plan was cancelled",
    UndoReason.OUTDATED_PLAN: "writes changed the files of the plan",
}


@dataclass(frozen=True, slots=True)
class Undo:
    """The effect of a rollback or a restore.

    Attributes:
        undone: requested times of the instants that were undone, or that a pending rollback or restore will undo.
        reason: why the instants were undone, in words; empty if the timeline does not contain the reason, as for
            rollbacks of Hudi.
    """

    undone: tuple[str, ...] = ()
    reason: str = ""


def undo_of(table: TableAccess, instant: Instant) -> Undo:
    """The effect of a rollback or a restore in any state. For other instants, the result is empty.

    Parts that cannot be read are left out.
    """
    if instant.action not in (Action.ROLLBACK, Action.RESTORE):
        return Undo()
    planned = _planned(table, instant)
    done = tuple(each.requested_time for each in _undone(table, instant)) if instant.is_completed else ()
    return Undo(done or planned.undone, planned.reason)


def _planned(table: TableAccess, instant: Instant) -> Undo:
    """The undone instants and the reason in the requested file of a rollback or a restore."""
    try:
        content = table.timeline_store.read_requested(instant)
        if instant.action is Action.RESTORE:
            restore = decode_restore_plan(content)
            savepoint = restore.savepoint_to_restore
            times = tuple(each.requested_time for each in restore.instants_to_rollback)
            return Undo(times, f"the table was restored to savepoint {savepoint}" if savepoint else "")
        reason, undone = decode_undo_note(content).reason, decode_rollback_plan(content).undone_time
    except (MalformedMetadataError, ObjectNotFoundError):
        return Undo()
    return Undo((undone,) if undone else (), "" if reason is None else _REASONS[reason])


def undone_by(table: TableAccess, timeline: Timeline) -> dict[str, str]:
    """Map the requested time of each undone instant to the requested time of the instant that undid it.

    Only completed rollbacks and restores are read.
    """
    return {
        reference.requested_time: instant.requested_time
        for instant in timeline.completed
        for reference in _undone(table, instant)
    }


def permanently_undone(table: TableAccess, timeline: Timeline) -> frozenset[str]:
    """Requested times of undone writes that are never executed again.

    When Hudi undoes the execution of a clustering or a compaction, the plan stays and can complete later under the same
    requested time.
    """
    return frozenset(
        reference.requested_time
        for instant in timeline.completed
        for reference in _undone(table, instant)
        if reference.action in (Action.COMMIT.value, Action.DELTA_COMMIT.value)
    )


def _undone(table: TableAccess, instant: Instant) -> tuple[InstantReference, ...]:
    """Instants that a completed rollback or restore undid. If its file is unreadable, log a warning; return ``()``."""
    try:
        if instant.action is Action.ROLLBACK:
            rollback = decode_rollback_metadata(table.timeline_store.read(instant))
            named, times = rollback.instants_rolled_back, rollback.commits_rolled_back
        elif instant.action is Action.RESTORE:
            restore = decode_restore_metadata(table.timeline_store.read(instant))
            named, times = restore.restored_instants, restore.instants_rolled_back
        else:
            return ()
    except (MalformedMetadataError, ObjectNotFoundError) as error:
        _LOG.warning("%s %s cannot be read: %s", instant.action.value, instant.requested_time, error)
        return ()
    known = {reference.requested_time for reference in named}
    rest = (InstantReference(requested_time=time, action="") for time in times if time not in known)
    return (*named, *rest)
