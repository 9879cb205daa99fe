"""What was undone before, as the active timeline tells."""

import logging

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_restore_metadata,
    decode_rollback_metadata,
)
from hudi_table_services.jobs.table_access import TableAccess
from hudi_table_services.model.instant import Action
from hudi_table_services.model.timeline import Timeline

_LOG = logging.getLogger(__name__)


def undone_by(table: TableAccess, timeline: Timeline) -> dict[str, str]:
    """Requested time of undone instants → requested time of the completed rollback or restore that undid them.

    One that cannot be read is passed over: then less is known, and nothing wrong.
    """
    found: dict[str, str] = {}
    for instant in timeline.completed:
        try:
            if instant.action is Action.ROLLBACK:
                times = decode_rollback_metadata(table.timeline_store.read(instant)).commits_rolled_back
            elif instant.action is Action.RESTORE:
                times = decode_restore_metadata(table.timeline_store.read(instant)).instants_rolled_back
            else:
                continue
        except (MalformedMetadataError, ObjectNotFoundError) as error:
            _LOG.warning("%s %s cannot be read: %s", instant.action.value, instant.requested_time, error)
            continue
        found.update(dict.fromkeys(times, instant.requested_time))
    return found
