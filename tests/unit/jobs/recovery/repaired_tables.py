"""Tables without rows that contain orphans, and the repair of the orphans."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.contract.recovery import RepairOrphansRequest, RollbackRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.recovery.orphans import NO_INSTANT, NOT_NAMED, ROLLED_BACK
from hudi_table_services.storage.stores.storage import Storage
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import updated

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")


def repair(
    table: SmallTable, *, storage: Storage | None = None, hours_later: int = 48, **fields: Any
) -> JobResult:
    backup = fields.pop("backup", None)
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(hours=hours_later))
    request = RepairOrphansRequest(base_path="/t", **fields)
    return repair_orphan_files(request, storage=storage or table.storage, clock=clock, backup=backup)


def report(result: JobResult) -> Any:
    assert result.report is not None
    return result.report


def reasons(result: JobResult) -> dict[str, str]:
    return {each.path: each.reason for each in report(result).files}


def undo(table: SmallTable, instant: Instant) -> None:
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=1), timedelta(milliseconds=1))
    request = RollbackRequest(base_path="/t", instants=(instant.requested_time,))
    rollback(request, storage=table.storage, clock=clock)


def add_orphans(table: SmallTable) -> dict[str, str]:
    """Make a table with orphans of each kind, and return the reason by path."""
    table.commit(A, B)
    newest = updated(table, A)
    undone = updated(table, B)
    undo(table, undone)
    dead = table.begin()
    table.timeline_store.remove(dead)
    late = table.add_file("b", base_file_name("f2", undone.requested_time))
    not_named = table.add_file("a", base_file_name("f1", newest.requested_time, token="9-9-9"))
    lost = table.add_file("c", base_file_name("x", dead.requested_time))
    hidden = f"no/partition/{base_file_name('y', dead.requested_time)}"
    table.storage.write(hidden, b"PAR1")
    table.storage.write("a/notes.txt", b"other notes")
    table.storage.write(f"a/.f1_{dead.requested_time}.log.1_0-1-0", b"log")
    return {late: ROLLED_BACK, not_named: NOT_NAMED, lost: NO_INSTANT, hidden: NO_INSTANT}
