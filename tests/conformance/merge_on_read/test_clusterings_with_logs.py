"""Clusterings of merge-on-read tables that real Hudi writes: Hudi reads the same rows before and after a clustering.

Each project executes plans of the other one, and both can write, compact and clean afterwards. Oracles: Hudi 0.15.0 on
table version 6, and Hudi 1.2.0 on versions 8 and 9; hudi-rs 0.5 also reads the tables.
"""

from pathlib import Path

import pytest

from hudi_table_services.contract.result import Outcome
from judges.clusterings import call_procedure, schedule_theirs, shown_clusterings
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import OUR_ROWS, rows_by_key, some_rows
from judges.table_files import data_files
from support.compaction.hudi_compactions import (
    Compactor,
    by_hudi_rs,
    execute_theirs,
    log_files,
    logged_table,
    read_optimized,
    snapshot,
    with_meta,
    write,
)
from support.compaction.hudi_compactions import schedule_theirs as schedule_compaction_of_hudi
from support.depth import cases

pytestmark = pytest.mark.parametrize("oracle", cases((V6_OLD, V8, V9), [V9]))

LATER = some_rows([*range(0, 40, 2)], 5)


def cluster(engine: Engine, base_path: Path) -> None:
    assert engine.schedule_clustering(base_path, sort_columns=("int",)).outcome is Outcome.COMPLETED
    assert engine.execute_clustering(base_path).outcome is Outcome.COMPLETED


def latest_logs(judge: HudiJudge, base_path: Path) -> bool:
    """Whether a snapshot query has other rows than a read-optimised query."""
    return snapshot(judge, base_path) != read_optimized(judge, base_path)


@pytest.mark.oracles(V6_OLD, V8, V9)
def test_hudi_reads_the_same_rows_before_and_after_our_clustering(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    before, meta = snapshot(judge, base_path), with_meta(judge, base_path)
    assert before.keys() < rows_by_key(OUR_ROWS).keys()
    assert latest_logs(judge, base_path)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    assert shown_clusterings(judge, base_path, oracle) == [(scheduled.instant_time, "REQUESTED", 2, "a,b")]
    assert snapshot(judge, base_path) == before
    assert engine.execute_clustering(base_path).outcome is Outcome.COMPLETED
    assert shown_clusterings(judge, base_path, oracle) == [(scheduled.instant_time, "COMPLETED", 2, "a,b")]
    assert snapshot(judge, base_path) == before
    assert with_meta(judge, base_path) == meta
    assert read_optimized(judge, base_path) == before
    assert by_hudi_rs(base_path) == before


@pytest.mark.thorough
def test_hudi_writes_compacts_and_cleans_after_our_clustering(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    replaced = {*data_files(base_path), *log_files(base_path)}
    cluster(engine, base_path)
    expected = {**snapshot(judge, base_path), **rows_by_key(LATER)}
    write(judge, base_path, oracle, LATER)
    assert snapshot(judge, base_path) == expected
    assert by_hudi_rs(base_path) == expected
    execute_theirs(judge, base_path, oracle, schedule_compaction_of_hudi(judge, base_path, oracle))
    assert read_optimized(judge, base_path) == expected
    newest = some_rows([0, 1], 9)
    write(judge, base_path, oracle, newest)
    expected.update(rows_by_key(newest))
    call_procedure(judge, base_path, "run_clean", "retain_commits => 1", oracle)
    assert replaced.isdisjoint({*data_files(base_path), *log_files(base_path)})
    assert snapshot(judge, base_path) == expected
    cluster(engine, base_path)
    assert read_optimized(judge, base_path) == expected
    assert by_hudi_rs(base_path) == expected


@pytest.mark.thorough
def test_hudi_executes_our_plan(hudi, engine: Engine, tmp_path: Path, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    expected, meta = snapshot(judge, base_path), with_meta(judge, base_path)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    call_procedure(judge, base_path, "run_clustering", "op => 'execute'", oracle)
    assert shown_clusterings(judge, base_path, oracle) == [(scheduled.instant_time, "COMPLETED", 2, "a,b")]
    assert snapshot(judge, base_path) == expected
    assert with_meta(judge, base_path) == meta
    assert read_optimized(judge, base_path) == expected
    assert by_hudi_rs(base_path) == expected


def test_we_execute_a_plan_of_hudi(hudi, engine: Engine, tmp_path: Path, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    expected, meta = snapshot(judge, base_path), with_meta(judge, base_path)
    planned = schedule_theirs(judge, base_path, oracle, "int")
    executed = engine.execute_clustering(base_path)
    assert (executed.outcome, executed.instant_time) == (Outcome.COMPLETED, planned)
    assert snapshot(judge, base_path) == expected
    assert with_meta(judge, base_path) == meta
    assert read_optimized(judge, base_path) == expected
    assert by_hudi_rs(base_path) == expected
    write(judge, base_path, oracle, LATER)
    expected.update(rows_by_key(LATER))
    assert snapshot(judge, base_path) == expected
    assert by_hudi_rs(base_path) == expected


@pytest.mark.thorough
def test_hudi_undoes_our_clustering(hudi, engine: Engine, tmp_path: Path, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), logged_table(hudi(oracle.release), tmp_path / "t", oracle)
    expected = snapshot(judge, base_path)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    engine.execute_clustering(base_path)
    call_procedure(
        judge, base_path, "rollback_to_instant", f"instant_time => '{scheduled.instant_time}'", oracle
    )
    assert snapshot(judge, base_path) == expected
    assert latest_logs(judge, base_path)
    assert by_hudi_rs(base_path) == expected


def test_the_metadata_table_of_hudi_stays_complete_after_our_clustering(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
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
    cluster(engine, base_path)
    skipping = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
    assert rows_by_key(judge.read(base_path, skipping)) == expected
    write(judge, base_path, oracle, LATER, **with_metadata)
    expected.update(rows_by_key(LATER))
    assert rows_by_key(judge.read(base_path, skipping)) == expected
    assert snapshot(judge, base_path) == expected
    Compactor(engine).schedule(base_path)
    Compactor(engine).execute(base_path)
    assert rows_by_key(judge.read(base_path, skipping)) == expected
