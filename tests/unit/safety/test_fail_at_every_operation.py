"""Storage that fails once, at any call of any job: readers see the old or the new table, and the next run finishes.

``TEST_DEPTH=all`` tries every call (two minutes). By default each test tries every fifth call (``FAIL_EVERY``), and
tests begin at different calls.
"""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.table_version import TableVersion
from support.depth import number_from
from support.fail_points import tried
from support.failing_calls import FailingCalls, OutageError
from support.jobs_on_tables import JOBS, ONLY_LOOKS, A, Seen, between, later, look, swept, traces
from support.small_tables import SmallTable
from support.undone_tables import a_table

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
START = datetime.now(timezone.utc) - timedelta(hours=3)
EVERY = int(number_from("FAIL_EVERY", 5, 1))


@VERSIONS
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("job", JOBS)
def test_one_failure(job: str, after: bool, version: TableVersion) -> None:
    table = a_table(version, START)
    act = JOBS[job](table)
    old, files = look(table), {f.path for f in table.storage.list_files()}
    act(table.storage, later(1))
    new, done = look(table), traces(table)
    final = swept(table)
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
        if job in ONLY_LOOKS:
            assert {f.path for f in table.storage.list_files()} == files, where
            continue
        act(table.storage, later(3))
        assert look(table) == new, where
        # Where nothing but what belongs there is left there is nothing to sweep.
        assert traces(table) == done or swept(table) == final, where
    assert fail_at > 5


def check_after(
    job: str, table: SmallTable, raised: HudiTableServiceError | None, where: str, states: tuple[Seen, Seen]
) -> None:
    seen = look(table)
    assert between(job, seen, *states), where
    assert raised is None or raised.retryable, where
    assert job != "snapshot" or isinstance(raised, OutageError), where


def test_the_storage_fails_at_each_call_once() -> None:
    """The tests above prove nothing if the storage does not fail."""
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
