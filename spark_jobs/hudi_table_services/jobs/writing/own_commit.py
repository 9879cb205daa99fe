"""Find the commit that an earlier attempt of the same request completed."""

import logging

from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.writing.reporting import Report
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.request_identity import find_completed
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def own_commit(
    table: TableAccess, timeline: Timeline, request: UpsertRequest, report: Report
) -> JobResult | None:
    """Return the result of this request's commit on the timeline, or None if there is no such commit."""
    found = find_completed(table.timeline_store, timeline, request.request_id)
    if found is None:
        return None
    _LOG.info("Request %s was already completed by %s.", request.request_id, found[0].requested_time)
    return report.reused(*found)


def own_archived_commit(table: TableAccess, request: UpsertRequest, report: Report) -> JobResult | None:
    """Return the result of this request's archived commit, or None.

    If the job generated the request id, no archived commit contains the id, so the function does not search for it.
    """
    if not request.can_be_repeated:
        return None
    found = ArchivedTimeline(table.storage, table.config).find_request(request.request_id)
    if found is None:
        return None
    _LOG.info("Archived %s completed request %s.", found[0].requested_time, request.request_id)
    return report.reused(*found)
