"""A job on a merge-on-read table dies, or one call to the storage fails: readers see the old or the new table.

``TEST_DEPTH=all`` lets each call fail. By default each test lets every tenth call fail (``FAIL_EVERY``); the tests
begin at different calls. A crash is tried at every change.
"""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import DeleteSavepointRequest
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.savepoint import delete_savepoint
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import Clock
from support.depth import number_from
from support.fail_points import tried
from support.failing_calls import FailingCalls
from support.faulty_storage import crashes_everywhere
from support.fixed_clock import FixedClock
from support.with_logs.jobs_on_logged_tables import JOBS
from support.with_logs.logged_tables import LoggedTable, a_logged_table

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
START = datetime.now(timezone.utc) - timedelta(hours=10)
EVERY = int(number_from("FAIL_EVERY", 10, 1))
BETWEEN_STATES = "restore of log files"
"""This job undoes one write after another, so readers also see the states in between."""


def later(days: int) -> Clock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(days=days), timedelta(milliseconds=1))


def state(table: LoggedTable) -> dict[str, Any]:
    return table.seen()


def opened(storage: Any, version: TableVersion) -> LoggedTable:
    return LoggedTable.existing(storage, version, FixedClock(START))


@VERSIONS
@pytest.mark.parametrize("job", JOBS)
def test_after_a_crash_at_any_change_the_next_run_completes_the_job(job: str, version: TableVersion) -> None:
    table = a_logged_table(version, START)
    act = JOBS[job](table)
    old = state(table)
    act(table.storage, later(1))
    new, files, pending = state(table), table.data_files(), actions(table)
    runs = 0

    def start() -> Any:
        fresh = a_logged_table(version, START)
        JOBS[job](fresh)
        return fresh.storage

    for storage in crashes_everywhere(lambda faulty: act(faulty, later(1)), start):
        left = opened(storage, version)
        assert job == BETWEEN_STATES or state(left) in (old, new)
        act(storage, later(3))
        assert state(left) == new
        assert left.data_files() == files
        assert actions(left) == pending
        runs += 1
    tried(job, runs)
    assert runs > 2


def delete_log_file_of_savepoint(table: LoggedTable, kept: set[str], failed: str) -> None:
    """Delete a log file that a clean could not delete, and that the savepoint keeps.

    From version 8 on, a log file without the base file of its slice belongs to the slice before, which the savepoint
    keeps. No reader needs the log file, and a clean deletes it once the savepoint is deleted.
    """
    (path,) = kept
    assert (failed, ".log." in path) == (f"delete '{path}'", True)
    (saved,) = [i for i in table.timeline_store.load() if i.action is Action.SAVEPOINT]
    request = DeleteSavepointRequest(base_path="/t", instants=(saved.requested_time,))
    delete_savepoint(request, storage=table.storage, clock=later(4))
    clean(CleanRequest(base_path="/t", file_versions_retained=1), storage=table.storage, clock=later(5))
    assert path not in table.data_files()


def actions(table: LoggedTable) -> list[tuple[str, bool]]:
    """The instants on the timeline by action and completion. The times of rollbacks differ between runs."""
    found = ((i.action.value, i.is_completed) for i in table.timeline_store.load())
    return sorted(each for each in found if each[0] not in ("rollback", "restore", "clean"))


@VERSIONS
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("job", JOBS)
def test_after_one_failure_of_the_storage_the_next_run_completes_the_job(
    job: str, after: bool, version: TableVersion
) -> None:
    table = a_logged_table(version, START)
    act = JOBS[job](table)
    old = state(table)
    act(table.storage, later(1))
    new, files, pending = state(table), table.data_files(), actions(table)
    first = 1 + (list(JOBS).index(job) + 2 * after + (version is TableVersion.V9)) % EVERY
    for fail_at in range(first, 10_000, EVERY):
        table = a_logged_table(version, START)
        act = JOBS[job](table)
        storage = FailingCalls(table.storage, fail_at, after)
        raised: HudiTableServiceError | None = None
        try:
            act(storage, later(1))
        except HudiTableServiceError as error:
            raised = error
        if storage.calls < fail_at:
            break
        tried(job)
        where = f"call {fail_at}, {storage.failed}: {raised!r}"
        assert job == BETWEEN_STATES or state(table) in (old, new), where
        assert raised is None or raised.retryable, where
        act(table.storage, later(3))
        assert (state(table), actions(table)) == (new, pending), where
        kept, missing = table.data_files() - files, files - table.data_files()
        if kept and job == "clean of log files" and version is TableVersion.V9:
            delete_log_file_of_savepoint(table, kept, storage.failed)
            kept = set()
        assert (kept, missing) == (set(), set()), where
    assert fail_at > 5
