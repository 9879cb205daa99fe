"""Find the instants that rollbacks and restores of the active timeline undid."""

import logging

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_restore_metadata,
    decode_rollback_metadata,
)
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import InstantReference
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


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
