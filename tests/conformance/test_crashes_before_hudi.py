"""Our jobs die before their end. Hudi reads the old or the new rows and can write; our next run completes the job.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on version 9; hudi-rs also reads the tables.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path

import pytest

from hudi_table_services.contract.result import Outcome
from hudi_table_services.storage.stores.factory import open_storage
from judges.clusterings import BLOOM, STORED, assert_all_read
from judges.engine import Engine
from judges.oracle import EDGES, V6_OLD, V9, Oracle
from judges.rows import as_table, merged, some_rows
from judges.table_files import data_files, files_below, instant_names, instant_of
from support.fail_points import tried
from support.faulty_storage import Crash, FaultyStorage

COMPLETED = (".commit", ".replacecommit")
OURS = some_rows([0, 1, 2, 40, 70, 71], 3)
THEIRS_NEW = some_rows(range(200, 204), 4)
THEIRS = [*some_rows([0, 1, 41], 4), *THEIRS_NEW]


@dataclass
class DiesAt(FaultyStorage):
    """Storage that crashes when the job creates the first file whose name has one of the endings.

    Attributes:
        ends: the endings of the name.
    """

    ends: tuple[str, ...] = ()

    def create(self, path: str, data: bytes) -> None:
        if path.endswith(self.ends) and not self.fail_at:
            self.fail_at = self.changes + 1
        super().create(path, data)


@dataclass(frozen=True)
class Point:
    """The place where a job dies: before or after it creates a certain file of the timeline."""

    name: str
    ends: tuple[str, ...]
    after: bool

    @property
    def is_committed(self) -> bool:
        return self.after and self.ends == COMPLETED

    def storage(self, base_path: Path) -> DiesAt:
        return DiesAt(open_storage(str(base_path), {}), after=self.after, ends=self.ends)

    def __str__(self) -> str:
        return self.name


POINTS = (
    Point("once it is inflight", (".inflight",), after=True),
    Point("before the commit", COMPLETED, after=False),
    Point("after the commit", COMPLETED, after=True),
)

# `make test` uses the points before and after the commit once.
SAMPLE = {(V9, POINTS[1]), (V6_OLD, POINTS[2])}

pytestmark = pytest.mark.parametrize(
    ("oracle", "point"),
    [
        pytest.param(*case, id=f"{case[1]}-{case[0]}", marks=() if case in SAMPLE else pytest.mark.thorough)
        for case in itertools.product(EDGES, POINTS)
    ],
)


def expire(base_path: Path) -> None:
    """Remove the lock and the heartbeat of the dead job, as if they had expired."""
    (base_path / ".hoodie" / "lock").unlink(missing_ok=True)
    for heartbeat in files_below(base_path / ".hoodie" / ".heartbeat"):
        heartbeat.unlink()


def uncommitted_files(base_path: Path) -> list[Path]:
    """Data files of instants that are not completed."""
    completed = {name.partition(".")[0].partition("_")[0] for name in instant_names(base_path, "commit")}
    return [path for path in data_files(base_path) if instant_of(path) not in completed]


def assert_nothing_left(base_path: Path) -> None:
    assert uncommitted_files(base_path) == []
    assert files_below(base_path / ".hoodie" / ".aux" / "staging") == []
    assert files_below(base_path / ".hoodie" / ".temp") == []


def test_hudi_writes_after_a_dead_upsert_and_a_retry_completes_the_upsert(
    hudi, fragmented, engine: Engine, oracle: Oracle, point: Point
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    version, rows = oracle.table_version, as_table(OURS)
    with pytest.raises(Crash):
        engine.write(base_path, rows, version=version, request_id="same", storage=point.storage(base_path))
    assert bool(uncommitted_files(base_path)) == (point.name == "before the commit")
    model = merged(STORED, OURS) if point.is_committed else STORED
    assert_all_read(judge, base_path, model, oracle)
    expire(base_path)

    judge.write(base_path, as_table(THEIRS), oracle.options("t", **BLOOM))
    model = merged(model, THEIRS)
    assert_all_read(judge, base_path, model, oracle)

    result = engine.write(base_path, rows, version=version, request_id="same")
    assert result.reused == point.is_committed
    # The rows of Hudi stay, because they have greater ordering values than the rows of the engine.
    model = merged(merged(model, OURS), THEIRS)
    assert_all_read(judge, base_path, model, oracle)
    assert_nothing_left(base_path)
    tried(f"upsert, then Hudi {oracle.release}")


def test_hudi_writes_after_a_dead_clustering_and_a_retry_completes_the_clustering(
    hudi, fragmented, engine: Engine, oracle: Oracle, point: Point
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    plan = engine.schedule_clustering(base_path, sort_columns=("int",)).instant_time
    with pytest.raises(Crash):
        engine.execute_clustering(base_path, storage=point.storage(base_path))
    assert bool(uncommitted_files(base_path)) == (point.name == "before the commit")
    assert_all_read(judge, base_path, STORED, oracle)
    expire(base_path)

    # Hudi does not update file groups of a pending clustering.
    batch = THEIRS if point.is_committed else THEIRS_NEW
    judge.write(base_path, as_table(batch), oracle.options("t", **BLOOM))
    model = merged(STORED, batch)
    assert_all_read(judge, base_path, model, oracle)

    result = engine.execute_clustering(base_path)
    if point.is_committed:
        assert result.outcome is Outcome.NOTHING_TO_DO
    else:
        assert (result.outcome, result.instant_time) == (Outcome.COMPLETED, plan)
    assert_all_read(judge, base_path, model, oracle)
    engine.write(base_path, as_table(OURS), version=oracle.table_version)
    model = merged(merged(model, OURS), batch)
    assert_all_read(judge, base_path, model, oracle)
    assert_nothing_left(base_path)
    tried(f"execute clustering, then Hudi {oracle.release}")
