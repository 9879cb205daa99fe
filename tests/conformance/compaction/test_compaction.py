"""Compactions of merge-on-read tables that real Hudi writes: Hudi reads the same rows before and after a compaction.

Each project executes plans of the other one, and takes over dead executions of the other one.
"""

from pathlib import Path

import pytest

from hudi_table_services.contract.result import Outcome
from judges.engine import Engine
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import OUR_ROWS, rows_by_key, some_rows
from judges.table_files import data_files, file_id_of, instant_names
from support.compaction.hudi_compactions import (
    Compactor,
    by_hudi_rs,
    die_before_completion,
    execute_theirs,
    log_files,
    logged_table,
    read_optimized,
    schedule_theirs,
    shown,
    snapshot,
    with_meta,
    write,
)
from support.depth import cases

ORACLES = (V6_OLD, V8, V9)
# `make test` runs most tests with one release of Hudi. The tests share the two releases evenly.
ON_OLDEST = pytest.mark.parametrize("oracle", cases(ORACLES, [V6_OLD]))
ON_NEWEST = pytest.mark.parametrize("oracle", cases(ORACLES, [V9]))

LATER = some_rows([*range(0, 40, 2)], 5)


@pytest.fixture
def compactor(engine: Engine) -> Compactor:
    return Compactor(engine)


@pytest.mark.oracles(*ORACLES)
@ON_NEWEST
def test_hudi_reads_the_same_rows_before_and_after_our_compaction(
    hudi, compactor: Compactor, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    before, meta = snapshot(judge, base_path), with_meta(judge, base_path)
    assert before.keys() < rows_by_key(OUR_ROWS).keys()
    assert compactor.schedule(base_path).outcome is Outcome.COMPLETED
    assert snapshot(judge, base_path) == before
    assert compactor.execute(base_path).outcome is Outcome.COMPLETED
    assert snapshot(judge, base_path) == before
    assert with_meta(judge, base_path) == meta
    assert read_optimized(judge, base_path) == before
    assert by_hudi_rs(base_path) == before


@ON_OLDEST
@pytest.mark.thorough
def test_hudi_continues_to_write_and_to_compact_after_our_compaction(
    hudi, compactor: Compactor, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    compactor.schedule(base_path)
    compactor.execute(base_path)
    expected = {**snapshot(judge, base_path), **rows_by_key(LATER)}
    write(judge, base_path, oracle, LATER)
    assert snapshot(judge, base_path) == expected
    assert by_hudi_rs(base_path) == expected
    instant = schedule_theirs(judge, base_path, oracle)
    execute_theirs(judge, base_path, oracle, instant)
    assert read_optimized(judge, base_path) == expected
    newest = some_rows([0, 1], 9)
    write(judge, base_path, oracle, newest)
    compactor.schedule(base_path)
    compactor.execute(base_path)
    assert read_optimized(judge, base_path) == {**expected, **rows_by_key(newest)}


@ON_OLDEST
@pytest.mark.thorough
def test_we_execute_a_plan_of_hudi_beside_later_writes(
    hudi, compactor: Compactor, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    schedule_theirs(judge, base_path, oracle)
    planned = snapshot(judge, base_path)
    write(judge, base_path, oracle, LATER)
    expected = {**planned, **rows_by_key(LATER)}
    assert snapshot(judge, base_path) == expected
    assert compactor.execute(base_path).outcome is Outcome.COMPLETED
    assert snapshot(judge, base_path) == expected
    assert by_hudi_rs(base_path) == expected
    # The rows of the later write are not part of the plan.
    assert read_optimized(judge, base_path) == planned
    compactor.schedule(base_path)
    compactor.execute(base_path)
    assert read_optimized(judge, base_path) == expected


@ON_NEWEST
@pytest.mark.thorough
def test_hudi_lists_and_executes_our_plan_beside_later_writes(
    hudi, compactor: Compactor, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    scheduled = compactor.schedule(base_path)
    instant = scheduled.instant_time or ""
    assert (instant, 2, "REQUESTED") in shown(judge, base_path, oracle)
    planned = snapshot(judge, base_path)
    write(judge, base_path, oracle, LATER)
    expected = {**planned, **rows_by_key(LATER)}
    assert snapshot(judge, base_path) == expected
    execute_theirs(judge, base_path, oracle, instant)
    assert len(instant_names(base_path, ".commit")) == 1
    assert snapshot(judge, base_path) == expected
    assert read_optimized(judge, base_path) == planned
    compactor.schedule(base_path)
    compactor.execute(base_path)
    assert read_optimized(judge, base_path) == expected


@ON_NEWEST
def test_hudi_takes_over_our_execution_that_died(
    hudi, compactor: Compactor, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    expected = snapshot(judge, base_path)
    instant = compactor.schedule(base_path).instant_time or ""
    die_before_completion(compactor, base_path, tmp_path / "dead")
    assert snapshot(judge, base_path) == expected
    execute_theirs(judge, base_path, oracle, instant)
    assert read_optimized(judge, base_path) == expected
    of_instant = [path for path in data_files(base_path) if instant in path.name]
    assert len(of_instant) == len({file_id_of(path) for path in of_instant})
    assert by_hudi_rs(base_path) == expected


@ON_OLDEST
def test_we_take_over_our_execution_that_died_and_reuse_its_files(
    hudi, compactor: Compactor, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    expected = snapshot(judge, base_path)
    compactor.schedule(base_path)
    left = die_before_completion(compactor, base_path, tmp_path / "dead")
    compactor.execute(base_path)
    assert set(left) <= set(data_files(base_path))
    assert read_optimized(judge, base_path) == expected
    assert by_hudi_rs(base_path) == expected


@ON_OLDEST
@pytest.mark.thorough
def test_hudi_writes_and_plans_after_we_cancelled_a_plan(
    hudi, compactor: Compactor, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    expected = {**snapshot(judge, base_path), **rows_by_key(LATER)}
    compactor.cancel(base_path, schedule_theirs(judge, base_path, oracle))
    write(judge, base_path, oracle, LATER)
    assert snapshot(judge, base_path) == expected
    execute_theirs(judge, base_path, oracle, schedule_theirs(judge, base_path, oracle))
    assert read_optimized(judge, base_path) == expected
    assert by_hudi_rs(base_path) == expected


@ON_NEWEST
@pytest.mark.thorough
def test_hudi_cleans_log_files_that_we_compacted(
    hudi, compactor: Compactor, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    for number in (6, 7):
        compactor.schedule(base_path)
        compactor.execute(base_path)
        write(judge, base_path, oracle, some_rows([0, 1], number))
    expected, logs = snapshot(judge, base_path), log_files(base_path)
    write(
        judge,
        base_path,
        oracle,
        some_rows([0, 1], 8),
        clean__automatic="true",
        clean__commits__retained="1",
        cleaner__commits__retained="1",
    )
    expected.update(rows_by_key(some_rows([0, 1], 8)))
    assert len(log_files(base_path)) < len(logs)
    assert snapshot(judge, base_path) == expected
    assert by_hudi_rs(base_path) == expected


@ON_NEWEST
@pytest.mark.thorough
def test_the_metadata_table_of_hudi_stays_complete_after_our_compaction(
    hudi, compactor: Compactor, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    with_metadata = {
        "metadata__enable": "true",
        "metadata__index__column__stats__enable": "true",
        # Hudi 0.15.0 stores no statistics of wide decimals.
        "metadata__index__column__stats__column__list": "key,ts,int,text",
        "metadata__index__bloom__filter__enable": "true",
    }
    write(judge, base_path, oracle, OUR_ROWS, "insert", **with_metadata)
    for number in (2, 3):
        write(judge, base_path, oracle, some_rows([0, 1, 2, 3], number), **with_metadata)
    expected = snapshot(judge, base_path)
    compactor.schedule(base_path)
    compactor.execute(base_path)
    skipping = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
    assert rows_by_key(judge.read(base_path, skipping)) == expected
    write(judge, base_path, oracle, LATER, **with_metadata)
    expected.update(rows_by_key(LATER))
    assert rows_by_key(judge.read(base_path, skipping)) == expected
    assert snapshot(judge, base_path) == expected
