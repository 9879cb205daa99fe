"""A load of changes stops or fails at one of its storage calls. Afterwards, each change is loaded exactly once.

The next attempt has the same request id, or another request id after a further commit of the source. The targets count
the loads of each row (`CountedChain`). ``TEST_DEPTH=all`` stops the loads at every change, and lets every
``FAIL_EVERY``-th call fail. Only calls in the driver fail, because Spark's tasks use other storage objects.
"""

import shutil
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from support.depth import number_from
from support.fail_points import tried
from support.failing_calls import FailingCalls
from support.faulty_storage import FaultyStorage
from support.reading.counted_loads import CountedChain, job_parts
from support.spark.leftovers import later
from support.spark.log_tables import new_log_table
from support.spark.stopped_runs import stopped_runs

EVERY = int(number_from("FAIL_EVERY", 45, 20))
CASES = [
    (False, 9, "MERGE_ON_READ"),
    (True, 6, "COPY_ON_WRITE"),
    (False, 6, "COPY_ON_WRITE"),
    (True, 9, "MERGE_ON_READ"),
    (False, 9, "COPY_ON_WRITE"),
    (True, 9, "COPY_ON_WRITE"),
    (False, 6, "MERGE_ON_READ"),
    (True, 6, "MERGE_ON_READ"),
]
"""Whether the load computes changed groups, the version of both tables, and the type of the target."""
FIRST = [(f"k{i}", 1, f"p{i % 2}", "xy"[i // 4]) for i in range(8)]
CHANGED = [("k0", 2, "p0", "y"), ("k5", 2, "p1", "x"), ("new", 2, "p0", "z")]
DELETED = [FIRST[2]]
LATE = [("late", 3, "p1", "w")]
"""A later commit, which changes no group of the earlier commits: the number of loads of each row stays the same."""


def parameters(sampled: int) -> pytest.MarkDecorator:
    """All cases; only the first ones are in the sample."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(
                case,
                id=f"{'groups' if case[0] else 'rows'}-{case[1]}-{case[2]}",
                marks=() if number < sampled else pytest.mark.thorough,
            )
            for number, case in enumerate(CASES)
        ],
    )


@pytest.fixture
def chain(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> CountedChain:
    """A chain after its first load. The source has two further commits."""
    is_grouped, version, table_type = request.getfixturevalue("case")
    source = new_log_table(tmp_path / "source", version, hoodie__table__type="COPY_ON_WRITE")
    target = new_log_table(tmp_path / "origin", version, hoodie__table__type=table_type)
    source.write(FIRST)
    target.ordering_field = ""
    chain = CountedChain(spark, source, target, is_grouped)
    chain.load()
    chain = chain.after_load()
    chain.check_complete()
    source.write(CHANGED)
    source.write(DELETED, "delete")
    return chain


def load_again(chain: CountedChain, request_id: str) -> JobResult:
    """Load when the lock and the heartbeat of the dead load have expired."""
    with job_parts(clock=later()):
        return chain.load(request_id)


def check_same_request(chain: CountedChain, where: str = "") -> None:
    """Check that the target has the old or the new rows, and that the same request then completes the load."""
    done = chain.after_load()
    seen = chain.rows()
    assert seen in (chain.expected(), done.expected()), where
    result = load_again(chain, "same")
    assert result.outcome is Outcome.COMPLETED, where
    assert result.reused == (seen == done.expected()), where
    done.check_complete(where)


@parameters(sampled=1)
def test_each_change_is_loaded_once_after_a_crash(tmp_path: Path, chain: CountedChain, case: Any) -> None:
    def act(run: CountedChain, storage: FaultyStorage) -> JobResult:
        def opened(uri: str, options: Any = None) -> Storage:
            return storage if uri == str(run.target.base_path) else open_storage(uri, options)

        with job_parts(opened):
            return run.load("same")

    old, copies, seen = chain.expected(), [], []
    runs = tmp_path / "runs"
    turn = CASES.index(case)
    for run in stopped_runs(chain.copied_to, runs, act, at_least=8, turn=turn):
        copies.append(run.copied_to(tmp_path / "copies" / run.target.base_path.name))
        seen.append(run.rows() != old)
        check_same_request(run)
        tried("load of changes")
    assert seen == sorted(seen), "readers saw the new rows, and afterwards the old rows again"
    assert set(seen) == {False, True}
    chain.source.write(LATE)
    for run in copies:
        assert load_again(run, "other").outcome is Outcome.COMPLETED
        run.after_load().check_complete(may_have_staged=True)


class Failure:
    """Lets one call fail. The calls to all storages that `opened` returns are counted together."""

    def __init__(self, fail_at: int, after: bool) -> None:
        self.calls, self.failed = 0, ""
        self._fail_at, self._after, self._guard = fail_at, after, Lock()

    def opened(self, uri: str, options: Any = None) -> Storage:
        failure = self

        class Counted(FailingCalls):
            def _must_fail(self, name: str, path: str) -> bool:
                if not failure.is_due(f"{name} {uri}/{path}"):
                    return False
                self.failed = f"{name} {path!r}"
                return True

        return Counted(open_storage(uri, options), after=self._after)

    def is_due(self, call: str) -> bool:
        with self._guard:
            self.calls += 1
            if self.calls != self._fail_at:
                return False
            self.failed = call
            return True


@parameters(sampled=0)
def test_each_change_is_loaded_once_after_a_failed_call(
    tmp_path: Path, chain: CountedChain, case: Any
) -> None:
    """The calls to the source and to the target fail in turn, before or after they have done their work."""
    number, points = CASES.index(case), 0
    for fail_at in range(1 + number * EVERY // len(CASES), 10_000, EVERY):
        run = chain.copied_to(tmp_path / str(fail_at))
        failure = Failure(fail_at, after=points % 2 == 1)
        raised: HudiTableServiceError | None = None
        try:
            with job_parts(failure.opened):
                run.load("same")
        except HudiTableServiceError as error:
            raised = error
        if failure.calls < fail_at:
            break
        points += 1
        tried("load of changes")
        where = f"call {fail_at}, {failure.failed}: {raised!r}"
        assert raised is None or raised.retryable, where
        check_same_request(run, where)
        shutil.rmtree(run.target.base_path)
    assert points, "the load makes fewer calls than expected"
