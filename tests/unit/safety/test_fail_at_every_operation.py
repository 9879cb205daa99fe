"""One call to the storage fails in a job: readers see the old or the new table, and the next run completes the work.

``TEST_DEPTH=all`` lets each call fail (two minutes). By default each test lets every tenth call fail (``FAIL_EVERY``);
the tests begin at different calls.
"""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.table_version import TableVersion
from support.depth import number_from
from support.fail_points import tried
from support.failing_calls import FailingCalls, OutageError
from support.jobs_on_tables import (
    JOBS,
    READ_ONLY_JOBS,
    A,
    TableState,
    files_after_clean_and_repair,
    files_outside_the_timeline,
    is_old_or_new_state,
    later,
    read_state,
)
from support.small_tables import SmallTable
from support.undone_tables import a_table

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
START = datetime.now(timezone.utc) - timedelta(hours=3)
EVERY = int(number_from("FAIL_EVERY", 10, 1))


@VERSIONS
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("job", JOBS)
def test_the_next_run_completes_a_job_after_one_failure_of_the_storage(
    job: str, after: bool, version: TableVersion
) -> None:
    table = a_table(version, START)
    act = JOBS[job](table)
    old, files = read_state(table), {f.path for f in table.storage.list_files()}
    act(table.storage, later(1))
    new, done = read_state(table), files_outside_the_timeline(table)
    final = files_after_clean_and_repair(table)
    first = 1 + (list(JOBS).index(job) + 2 * after + (version is TableVersion.V9)) % EVERY
    for fail_at in range(first, 10_000, EVERY):
        table = a_table(version, START)
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
        check_after(job, table, raised, where, (old, new))
        if job in READ_ONLY_JOBS:
            assert {f.path for f in table.storage.list_files()} == files, where
            continue
        act(table.storage, later(3))
        assert read_state(table) == new, where
        # The clean and the repair are necessary only if the failed run left files that a successful run does not leave.
        assert files_outside_the_timeline(table) == done or files_after_clean_and_repair(table) == final, (
            where
        )
    assert fail_at > 5


def check_after(
    job: str,
    table: SmallTable,
    raised: HudiTableServiceError | None,
    where: str,
    states: tuple[TableState, TableState],
) -> None:
    state_now = read_state(table)
    assert is_old_or_new_state(job, state_now, *states), where
    assert raised is None or raised.retryable, where
    assert job != "snapshot" or isinstance(raised, OutageError), where


def test_the_storage_of_these_tests_fails_exactly_once() -> None:
    """Without these failures, the other tests of this module would prove nothing."""
    table = a_table()
    table.commit(A)
    done: list[Any] = []
    for after in (False, True):
        storage = FailingCalls(table.storage, 2, after)
        storage.write("one", b"")
        with pytest.raises(OutageError):
            storage.write(f"two-{after}", b"")
        storage.write("three", b"")
        done.append(table.storage.exists(f"two-{after}"))
        half = FailingCalls(table.storage, 1, after).list_files()
        with pytest.raises(OutageError):
            done.append(len(list(half)))
    assert done == [False, True]
