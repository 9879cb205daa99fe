"""Clustering jobs of merge-on-read tables that die at any change of the storage, or whose storage fails at any call.

In each state, readers see the same rows, and the next attempt completes the work without leaving anything behind.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from support.compaction.written_table import WrittenTable
from support.depth import cases
from support.fail_points import tried
from support.failing_calls import FailingCalls
from support.faulty_storage import Crash, FaultyStorage
from support.jobs_on_tables import later
from support.log_golden import ARCHIVES
from support.with_logs.clusterings_here import ROWS, a_table, cancel, execute, keys, merged_rows, schedule

Run = Callable[[Storage], object]


def run_schedule(storage: Storage) -> object:
    return schedule(storage, later(1), request_id="schedule", sort_columns=("ts",))


def run_execute(storage: Storage) -> object:
    return execute(storage, later(1), request_id="execute")


def run_cancel(storage: Storage) -> object:
    return cancel(storage, later(1), older_than_minutes=0, request_id="cancel")


@dataclass
class Job:
    """A job, and a table on which the job has work."""

    run: Run
    prepare: Callable[[WrittenTable], object]


JOBS = {
    "schedule clustering": Job(run_schedule, lambda table: None),
    "execute clustering": Job(run_execute, lambda table: run_schedule(table.storage)),
    "cancel clustering": Job(run_cancel, lambda table: run_schedule(table.storage)),
}
EACH_JOB = pytest.mark.parametrize("name", JOBS)


def prepared(name: str, version: TableVersion) -> WrittenTable:
    table = a_table(version)
    JOBS[name].prepare(table)
    return table


def check_completed(name: str, table: WrittenTable) -> None:
    """The job has completed its work, and nothing is left of the attempts that failed."""
    timeline = table.timeline_store.load()
    pending = [i.action.comparable for i in timeline.pending]
    clusterings = [i for i in timeline.completed if i.action is Action.REPLACE_COMMIT]
    match name:
        case "schedule clustering":
            assert pending == [Action.REPLACE_COMMIT]
        case "execute clustering":
            assert (pending, len(clusterings)) == ([], 1)
            assert not any(s.log_files for s in table.snapshot.all_slices)
        case _:
            assert (pending, clusterings) == ([], [])
    assert keys(merged_rows(table.storage)) == ROWS
    folders = (".hoodie/.temp", ".hoodie/.heartbeat", ".hoodie/.aux")
    assert [f.path for folder in folders for f in table.storage.list_files(folder)] == []
    named = {
        path
        for i in timeline.completed_writes
        for path in (stat.path for stat in table.timeline_store.commit_metadata(i).write_stats)
    }
    present = {f.path for f in table.storage.list_files() if f.path.endswith(".parquet") or ".log." in f.path}
    assert present == named


@EACH_JOB
@pytest.mark.parametrize("version", cases(list(ARCHIVES), [TableVersion.V6, TableVersion.V9]))
@pytest.mark.parametrize("after", cases([False, True], [False]))
def test_a_job_that_dies_at_any_change_is_completed_by_its_next_attempt(
    name: str, version: TableVersion, after: bool
) -> None:
    counting = FaultyStorage(prepared(name, version).storage)
    JOBS[name].run(counting)
    assert counting.changes >= 3
    for number in range(1, counting.changes + 1):
        table = prepared(name, version)
        dying = FaultyStorage(table.storage, fail_at=number, after=after)
        with pytest.raises(Crash):
            JOBS[name].run(dying)
        assert keys(merged_rows(table.storage)) == ROWS, dying.log[-1]
        JOBS[name].run(table.storage)
        check_completed(name, table)
    tried(name, counting.changes)


@EACH_JOB
@pytest.mark.parametrize("version", cases([TableVersion.V6, TableVersion.V9], [TableVersion.V9]))
@pytest.mark.parametrize("after", cases([False, True], [True]))
@pytest.mark.thorough
def test_a_failure_of_any_call_gives_an_error_or_success_and_the_next_attempt_completes(
    name: str, version: TableVersion, after: bool
) -> None:
    counting = FailingCalls(prepared(name, version).storage)
    JOBS[name].run(counting)
    for number in range(1, counting.calls + 1):
        table = prepared(name, version)
        failing = FailingCalls(table.storage, fail_at=number, after=after)
        with suppress(HudiTableServiceError):
            JOBS[name].run(failing)
        assert keys(merged_rows(table.storage)) == ROWS, number
        JOBS[name].run(table.storage)
        check_completed(name, table)
    tried(name, counting.calls)


def test_the_jobs_have_work() -> None:
    for name in JOBS:
        result = JOBS[name].run(prepared(name, TableVersion.V9).storage)
        assert getattr(result, "outcome", None) is Outcome.COMPLETED
