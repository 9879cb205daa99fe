"""What was undone before, as the active timeline tells."""

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
    """Requested time of undone instants → requested time of the completed rollback or restore that undid them."""
    return {
        reference.requested_time: instant.requested_time
        for instant in timeline.completed
        for reference in _undone(table, instant)
    }


def undone_for_good(table: TableAccess, timeline: Timeline) -> frozenset[str]:
    """Requested times of undone writes that nobody executes again.

    The plan of a clustering or a compaction stays where Hudi undoes its execution, and completes at the same time.
    """
    return frozenset(
        reference.requested_time
        for instant in timeline.completed
        for reference in _undone(table, instant)
        if reference.action in (Action.COMMIT.value, Action.DELTA_COMMIT.value)
    )


def _undone(table: TableAccess, instant: Instant) -> tuple[InstantReference, ...]:
    """What a completed rollback or restore undid. One that cannot be read is passed over: then less is known."""
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
    told = {reference.requested_time for reference in named}
    rest = (InstantReference(requested_time=time, action="") for time in times if time not in told)
    return (*named, *rest)
