"""Cleaning shared with real Hudi: both sides delete the same files, and can complete pending cleans of the other side.

Afterwards both sides can write and clean again. Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on version 9.
hudi-rs also reads the tables.
"""

import functools
import shutil
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from judges.clusterings import BLOOM, STORED, assert_all_read, call_procedure, fragment
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.oracle import ONLY_NEWEST_SAMPLED, ONLY_OLDEST_SAMPLED, V6_OLD, V9, Oracle
from judges.rows import Model, as_table, merged, some_rows
from judges.table_files import copy_table, data_files, instant_names, latest_data_files
from support.faulty_storage import Crash, FaultyStorage
from support.fixed_clock import FixedClock

BY_POLICY = {
    "KEEP_LATEST_COMMITS": {"commits_retained": 2},
    "KEEP_LATEST_FILE_VERSIONS": {"file_versions_retained": 2},
}
# Hudi has no minimum age for deleted files, and the tables of these tests are a minute old.
NO_FLOOR = {"hoodie.airflow.clean.floor.hours": "0"}


def our_clean(base_path: Path, *, storage: Storage | None = None, **fields: object) -> JobResult:
    """Clean with a clock one hour ahead, because in layout 1 the time of the file system gives the age of a file."""
    request = CleanRequest(base_path=str(base_path), options=NO_FLOOR, **fields)  # type: ignore[arg-type]
    later = FixedClock(datetime.now(timezone.utc) + timedelta(hours=1))
    return clean(request, storage=storage, clock=later)


def their_clean(judge: HudiJudge, base_path: Path, oracle: Oracle, **fields: object) -> None:
    names = {"file_versions_retained": "file_versions_retained", "commits_retained": "retain_commits"}
    arguments = [f"{names[name]} => {value}" for name, value in fields.items() if name in names]
    policy = next(
        (p for p, given in BY_POLICY.items() if given.keys() <= fields.keys()), "KEEP_LATEST_COMMITS"
    )
    call_procedure(
        judge, base_path, "run_clean", ", ".join([f"clean_policy => '{policy}'", *arguments]), oracle
    )


def with_history(judge: HudiJudge, base_path: Path, engine: Engine, oracle: Oracle) -> Model:
    """Hudi updates rows; then the engine clusters the table and updates rows. Return the model.

    Afterwards the table has old file slices, replaced file groups and current file groups.
    """
    model = STORED
    for version in (3, 4):
        rows = some_rows([0, 1, 5, *range(40, 45)], version)
        judge.write(base_path, as_table(rows), oracle.options("t", **BLOOM))
        model = merged(model, rows)
    engine.schedule_clustering(base_path)
    engine.execute_clustering(base_path)
    for version in (5, 6, 7):
        rows = some_rows([2, 3, *range(50, 55)], version)
        engine.write(base_path, as_table(rows), version=oracle.table_version)
        model = merged(model, rows)
    return model


Aged = Callable[[Oracle], tuple[HudiJudge, Path, Model]]


@pytest.fixture(scope="module")
def histories(
    judges: Mapping[str, HudiJudge],
    first_commits: Callable[[int], Path],
    engine: Engine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Oracle], tuple[Path, Model]]:
    """A table with a history for each oracle, made once; read-only."""

    @functools.cache
    def made(oracle: Oracle) -> tuple[Path, Model]:
        origin = fragment(first_commits(oracle.table_version), engine, oracle.table_version)
        base_path = copy_table(origin, tmp_path_factory.mktemp("history") / "t")
        return base_path, with_history(judges[oracle.release], base_path, engine, oracle)

    return made


@pytest.fixture
def aged(hudi, histories: Callable[[Oracle], tuple[Path, Model]], tmp_path: Path) -> Aged:
    """``aged(V9)`` returns the judge, a copy of the table with a history, and the model of its rows."""

    def copied(oracle: Oracle) -> tuple[HudiJudge, Path, Model]:
        judge = hudi(oracle.release)
        base_path, model = histories(oracle)
        return judge, copy_table(base_path, tmp_path / "t"), model

    return copied


def names(base_path: Path) -> set[str]:
    return {str(path.relative_to(base_path)) for path in data_files(base_path)}


@pytest.mark.parametrize(
    ("oracle", "policy"),
    [
        (V6_OLD, "KEEP_LATEST_COMMITS"),
        (V9, "KEEP_LATEST_FILE_VERSIONS"),
        pytest.param(V6_OLD, "KEEP_LATEST_FILE_VERSIONS", marks=pytest.mark.thorough),
        pytest.param(V9, "KEEP_LATEST_COMMITS", marks=pytest.mark.thorough),
    ],
    ids=str,
)
def test_our_clean_deletes_the_same_files_as_a_clean_of_hudi(
    aged: Aged, tmp_path: Path, oracle: Oracle, policy: str
) -> None:
    judge, base_path, model = aged(oracle)
    retained = BY_POLICY[policy]
    before, theirs = names(base_path), copy_table(base_path, tmp_path / "theirs")
    their_clean(judge, theirs, oracle, **retained)
    result = our_clean(base_path, **retained)
    assert names(base_path) == names(theirs) < before
    assert result.report is not None
    assert result.report.file_count == len(before) - len(names(base_path))
    assert_all_read(judge, base_path, model, oracle)


@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_hudi_writes_and_cleans_after_our_clean(aged: Aged, oracle: Oracle) -> None:
    judge, base_path, model = aged(oracle)
    ours = our_clean(base_path, commits_retained=2)
    if oracle.release != "0.15.0":  # Hudi 0.15.0 has no procedure show_cleans
        shown = call_procedure(judge, base_path, "show_cleans", "", oracle)
        assert [(row["clean_time"], row["total_files_deleted"]) for row in shown] == [
            (ours.instant_time, ours.report.file_count)  # type: ignore[union-attr]
        ]
    for version in (8, 9, 10):
        rows = some_rows([0, 2, *range(60, 64)], version)
        judge.write(base_path, as_table(rows), oracle.options("t", **BLOOM))
        model = merged(model, rows)
    before = names(base_path)
    their_clean(judge, base_path, oracle, commits_retained=1)
    assert names(base_path) < before, "Hudi's clean deletes files after our clean"
    assert_all_read(judge, base_path, model, oracle)
    again = our_clean(base_path, commits_retained=1)
    assert again.outcome is not Outcome.FAILED
    assert_all_read(judge, base_path, model, oracle)


class DiesAtTheFirstDataFile(FaultyStorage):
    """Storage that crashes instead of deleting the first data file."""

    def delete(self, path: str) -> bool:
        if path.endswith(".parquet"):
            raise Crash
        return super().delete(path)


@pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
def test_hudi_completes_our_pending_clean(aged: Aged, tmp_path: Path, oracle: Oracle) -> None:
    judge, base_path, model = aged(oracle)
    dying = DiesAtTheFirstDataFile(open_storage(str(base_path), {}))
    with pytest.raises(Crash):
        our_clean(base_path, storage=dying, commits_retained=2)
    (pending,) = {name.partition(".")[0] for name in instant_names(base_path, "clean.inflight")}
    finished_by_us = copy_table(base_path, tmp_path / "finished")
    # With 50 retained commits, Hudi only completes the pending clean and plans no new clean.
    their_clean(judge, base_path, oracle, commits_retained=50)
    assert [n for n in instant_names(base_path, ".clean") if n.startswith(pending)]
    assert our_clean(finished_by_us, commits_retained=50).report.finished == (pending,)  # type: ignore[union-attr]
    assert names(base_path) == names(finished_by_us)
    for each in (base_path, finished_by_us):
        assert_all_read(judge, each, model, oracle)


@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_we_complete_the_pending_clean_of_hudi(aged: Aged, tmp_path: Path, oracle: Oracle) -> None:
    judge, base_path, model = aged(oracle)
    theirs = copy_table(base_path, tmp_path / "theirs")
    their_clean(judge, theirs, oracle, commits_retained=2)
    (planned,) = instant_names(theirs, "clean.requested")
    folder = next(path.parent for path in theirs.rglob(planned))
    # Hudi planned the clean of the copy `theirs`, so the absolute paths in the plan point to that copy.
    shutil.copy(folder / planned, base_path / folder.relative_to(theirs) / planned)
    result = our_clean(base_path, commits_retained=50)
    assert result.report is not None
    assert result.report.finished == (planned.partition(".")[0],)
    assert names(base_path) == names(theirs)
    assert_all_read(judge, base_path, model, oracle)


@pytest.mark.thorough
def test_hudi_restores_the_table_to_its_savepoint_after_our_clean(hudi, fragmented, engine: Engine) -> None:
    judge, base_path = hudi(V9.release), fragmented(V9.table_version)
    rows = some_rows([0, 1, *range(40, 45)], 3)
    judge.write(base_path, as_table(rows), V9.options("t", **BLOOM))
    saved = merged(STORED, rows)
    commit = instant_names(base_path, ".commit")[-1].partition("_")[0]
    kept = latest_data_files(base_path)
    call_procedure(judge, base_path, "create_savepoint", f"commit_time => '{commit}'", V9)
    model = with_history(judge, base_path, engine, V9)
    assert our_clean(base_path, commits_retained=1).report.file_count > 0  # type: ignore[union-attr]
    assert set(kept) <= set(data_files(base_path))
    assert_all_read(judge, base_path, model, V9)
    call_procedure(judge, base_path, "rollback_to_savepoint", f"instant_time => '{commit}'", V9)
    assert_all_read(judge, base_path, saved, V9)


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
def test_hudi_restores_the_table_to_our_savepoint_after_our_clean(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    saved = create_savepoint(CreateSavepointRequest(base_path=str(base_path), saved_by="me")).instant_time
    with_history(judge, base_path, engine, oracle)
    our_clean(base_path, commits_retained=1)
    call_procedure(judge, base_path, "rollback_to_savepoint", f"instant_time => '{saved}'", oracle)
    assert_all_read(judge, base_path, STORED, oracle)
