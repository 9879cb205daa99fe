"""A job on a table with a metadata table fails or dies at any call of storage: no listing is wrong, the next run ends.

``TEST_DEPTH=all`` lets each call fail. By default each test lets every 75th call fail (``FAIL_EVERY``).
"""

from collections.abc import Callable
from functools import cache

import pytest

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from hudi_table_services.storage.stores.storage import Storage
from support.depth import cases, number_from
from support.fail_points import tried
from support.failing_calls import FailingCalls
from support.faulty_storage import Crash, FaultyStorage
from support.metadata_table.maintained_tables import (
    JOBS,
    RunJob,
    access,
    copied,
    files_in,
    listed_files,
    listing,
    live_files,
    maintained,
    rebuilt_statistics,
    statistics,
    ticking,
    visible_files,
)

VERSIONS = pytest.mark.parametrize(
    "version",
    cases(
        [TableVersion.V6, TableVersion.V8, TableVersion.V9],
        [TableVersion.V6, TableVersion.V9],
        lambda v: v.name,
    ),
)
EVERY = int(number_from("FAIL_EVERY", 75, 1))


@cache
def prepared(job: str, version: TableVersion) -> tuple[Storage, RunJob]:
    storage = copied(maintained(version))
    return storage, JOBS[job](storage, ticking(0.5))


def check_readers(storage: Storage, where: str) -> None:
    """A listing from the metadata table is that of the folders, or is refused.

    A clean deletes files before the metadata table lists them no longer. A file that a clean could not delete is not
    listed any more, as in Hudi; no reader needs it.
    """
    outcome = listing(storage)
    if not isinstance(outcome, ListedTable):
        return
    listed, present = files_in(listed_files(outcome)), files_in(visible_files(storage))
    actions = {i.action for i in access(storage, ticking()).load_timeline()}
    assert live_files(storage) <= listed, where
    assert listed == present or Action.CLEAN in actions, (where, listed ^ present)


def check_end(storage: Storage, where: str) -> None:
    outcome = listing(storage)
    assert isinstance(outcome, ListedTable), (where, outcome)
    listed, present = files_in(listed_files(outcome)), files_in(visible_files(storage))
    actions = {i.action for i in access(storage, ticking()).load_timeline()}
    assert live_files(storage) <= listed <= present, where
    assert listed == present or Action.CLEAN in actions, where
    found = statistics(storage)
    assert found, where
    assert found == rebuilt_statistics(storage), where


def run_again(run: RunJob, storage: Storage, where: str) -> None:
    storage.delete(".hoodie/lock")  # the next run would wait until the lock of the dead job has expired
    try:
        run(storage, ticking(4))
    except HudiTableServiceError as error:
        raise AssertionError(f"{where}: the next run failed: {error!r}") from error
    check_end(storage, where)


@VERSIONS
@pytest.mark.parametrize("job", JOBS)
def test_a_job_without_failures(job: str, version: TableVersion) -> None:
    start, run = prepared(job, version)
    storage = copied(start)
    check_readers(storage, "before")
    run(storage, ticking(2))
    check_end(storage, "after")
    run_again(run, storage, "again")


@VERSIONS
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("job", JOBS)
def test_one_call_of_storage_fails(job: str, after: bool, version: TableVersion) -> None:
    start, run = prepared(job, version)
    first = 1 + (list(JOBS).index(job) + 2 * after + int(version)) % EVERY
    for fail_at in range(first, 10_000, EVERY):
        storage = FailingCalls(copied(start), fail_at, after)
        if not check_failure(storage, lambda failing: run(failing, ticking(2)), run):
            break
    assert fail_at > first
    tried(f"{job} with a metadata table", fail_at // EVERY)


def check_failure(storage: FailingCalls, act: Callable[[Storage], object], run: RunJob) -> bool:
    raised: HudiTableServiceError | None = None
    try:
        act(storage)
    except HudiTableServiceError as error:
        raised = error
    if not storage.failed:
        return False
    where = f"call {storage.fail_at}, {storage.failed}: {raised!r}"
    assert raised is None or raised.retryable, where
    check_readers(storage.inner, where)
    run_again(run, storage.inner, where)
    return True


@VERSIONS
@pytest.mark.parametrize("job", JOBS)
def test_a_job_dies_at_a_change_of_storage(job: str, version: TableVersion) -> None:
    start, run = prepared(job, version)
    every = max(1, EVERY // 4)
    for fail_at in range(1 + int(version) % every, 10_000, every):
        storage = copied(start)
        faulty = FaultyStorage(storage, fail_at)
        try:
            run(faulty, ticking(2))
        except Crash:
            where = f"change {fail_at}, {faulty.log[-1]}"
            check_readers(storage, where)
            run_again(run, storage, where)
        else:
            break
    assert fail_at > 5
    tried(f"{job} with a metadata table", fail_at // every)
