"""A clustering or an overwrite is undone only if the log files of the file slices that it replaced still exist.

Cleaning deletes each file of a file slice separately. If the deletion of a base file fails, the log files of the slice
are deleted all the same.
"""

from collections.abc import Callable

import pytest

from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_version import TableVersion
from support.compaction import jobs_here
from support.compaction.written_table import NORTH, SOUTH, WrittenTable, a_row
from support.with_logs.clusterings_here import NORTH2, a_table, execute, merged_rows, schedule

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)


def undo(table: WrittenTable, instant: Instant) -> JobResult:
    request = RollbackRequest(base_path="/t", instants=(instant.requested_time,))
    return rollback(request, storage=table.storage, clock=table.clock)


def clustered(table: WrittenTable) -> Instant:
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    return table.timeline_store.load().completed_writes[-1]


def overwritten(table: WrittenTable) -> Instant:
    return table.replace_groups(NORTH, NORTH2, SOUTH)


def logs_of(table: WrittenTable) -> list[str]:
    return sorted(f.path for f in table.storage.list_files("north") if ".log." in f.path)


@VERSIONS
@pytest.mark.parametrize("replace", [clustered, overwritten])
@pytest.mark.parametrize("which", [0, -1], ids=["first log", "last log"])
def test_a_write_is_not_undone_if_a_log_file_that_it_replaced_is_missing(
    version: TableVersion, replace: Callable[[WrittenTable], Instant], which: int
) -> None:
    table = a_table(version)
    written = replace(table)
    path = logs_of(table)[which]
    table.storage.delete(path)
    before = merged_rows(table.storage)
    with pytest.raises(
        InvalidRequestError, match="cleaning has deleted the previous versions of 1 file group"
    ):
        undo(table, written)
    assert written in table.timeline_store.load().completed_writes
    assert merged_rows(table.storage) == before


@VERSIONS
@pytest.mark.parametrize("replace", [clustered, overwritten])
def test_log_files_of_earlier_slices_are_not_necessary(
    version: TableVersion, replace: Callable[[WrittenTable], Instant]
) -> None:
    """A later compaction has merged them, so no reader of the replaced slices would need them."""
    table = a_table(version)
    old = logs_of(table)
    jobs_here.schedule(table.storage, table.clock)
    jobs_here.execute(table.storage, table.clock)
    table.log({NORTH: [a_row("a", 8)]})
    before = merged_rows(table.storage)
    written = replace(table)
    for path in old:
        table.storage.delete(path)
    assert undo(table, written).outcome is Outcome.COMPLETED
    assert merged_rows(table.storage) == before
