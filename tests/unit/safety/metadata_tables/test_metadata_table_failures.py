"""A job on a table with a metadata table fails or dies at a call of storage: listings are right, the next run succeeds.

Some tables have only statistics, others have all indexes. By default, each test lets every 150th call fail
(``FAIL_EVERY``). With ``TEST_DEPTH=all``, each call fails for tables with only statistics, and every fifth call for
tables with all indexes.
"""

from collections.abc import Callable
from functools import cache

import pytest

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from support.depth import cases, number_from
from support.fail_points import tried
from support.failing_calls import FailingCalls
from support.faulty_storage import Crash, FaultyStorage
from support.metadata_table.all_indexes import with_all_indexes
from support.metadata_table.checked_tables import check_end, check_readers
from support.metadata_table.maintained_table_jobs import JOBS, RunJob
from support.metadata_table.maintained_tables import copied, maintained, ticking

VERSIONS = pytest.mark.parametrize(
    "version",
    cases(
        [TableVersion.V6, TableVersion.V8, TableVersion.V9],
        [TableVersion.V6, TableVersion.V9],
        lambda v: v.name,
    ),
)
EVERY = {
    "statistics": int(number_from("FAIL_EVERY", 150, 1)),
    "all indexes": int(number_from("FAIL_EVERY", 150, 5)),
}
KINDS = pytest.mark.parametrize("kind", EVERY)


@cache
def prepared(job: str, version: TableVersion, kind: str) -> tuple[Storage, RunJob]:
    storage = copied(maintained(version) if kind == "statistics" else with_all_indexes(version))
    return storage, JOBS[job](storage, ticking(0.5))


def _first(job: str, version: TableVersion, every: int, variants: int = 1, variant: int = 0) -> int:
    """Return the number of the first call that fails; it depends on the job, the version and the variant.

    So the six tests of a job (three versions, before and after the call) try all calls if every fifth call fails.
    """
    return 1 + (list(JOBS).index(job) + variants * list(TableVersion).index(version) + variant) % every


def run_again(run: RunJob, storage: Storage, where: str) -> None:
    storage.delete(".hoodie/lock")  # the next run would wait until the lock of the dead job has expired
    try:
        run(storage, ticking(4))
    except HudiTableServiceError as error:
        raise AssertionError(f"{where}: the next run failed: {error!r}") from error
    check_end(storage, where)


@VERSIONS
@KINDS
@pytest.mark.parametrize("job", JOBS)
def test_a_job_and_its_repetition_succeed_without_failures(
    job: str, kind: str, version: TableVersion
) -> None:
    start, run = prepared(job, version, kind)
    storage = copied(start)
    check_readers(storage, "before")
    run(storage, ticking(2))
    check_end(storage, "after")
    run_again(run, storage, "again")


@VERSIONS
@KINDS
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("job", JOBS)
def test_the_next_run_succeeds_after_one_failure_of_the_storage(
    job: str, after: bool, kind: str, version: TableVersion
) -> None:
    start, run = prepared(job, version, kind)
    every = EVERY[kind]
    first = _first(job, version, every, 2, after)
    for fail_at in range(first, 10_000, every):
        storage = FailingCalls(copied(start), fail_at, after)
        if not check_failure(storage, lambda failing: run(failing, ticking(2)), run):
            break
    assert fail_at > first
    tried(f"{job} with a metadata table", fail_at // every)


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
@KINDS
@pytest.mark.parametrize("job", JOBS)
def test_the_next_run_succeeds_after_a_crash_at_a_change(job: str, kind: str, version: TableVersion) -> None:
    start, run = prepared(job, version, kind)
    every = max(1, EVERY[kind] // 4)
    for fail_at in range(_first(job, version, every), 10_000, every):
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
