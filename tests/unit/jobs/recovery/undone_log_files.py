"""Rollbacks of writes to merge-on-read tables without rows."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.hudi_format.table_service_plans import decode_rollback_metadata
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import RollbackMetadata
from hudi_table_services.model.table_version import TableVersion
from support.fixed_clock import FixedClock
from support.with_logs.logged_tables import A, B, LoggedTable

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
