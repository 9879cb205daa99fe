"""Clusterings die, are undone or conflict with writes: no row is lost, and both sides can write afterwards.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 6, 8 and 9; hudi-rs 0.5 also reads the tables.
"""

from pathlib import Path

import pytest

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import InstantVanishedError
from judges.clusterings import (
    BLOOM,
    STORED,
    TOUCHING,
    assert_all_read,
    call_procedure,
    die_before_completion,
    files_of,
    is_sorted,
    schedule_theirs,
    shown_clusterings,
)
from judges.engine import Engine
from judges.hudi_judge import HudiRefusedError
from judges.interruption import just_before_completion
from judges.oracle import ONLY_NEWEST_SAMPLED, ONLY_OLDEST_SAMPLED, V6, V6_OLD, V9, Oracle
from judges.rows import as_table, merged, some_rows
from judges.table_files import data_files, instant_names, instant_of, properties, timeline_folder

usually_oldest = pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
usually_newest = pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)

LISTED_METADATA = "hoodie.table.metadata.partitions"
ALLOWING_UPDATES = {
    "hoodie.clustering.updates.strategy": (
        "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
    ),
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "true",
}


@usually_newest
def test_hudi_completes_a_clustering_whose_execution_by_us_died(
    hudi, fragmented, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    leftovers = die_before_completion(engine, base_path, tmp_path / "dead")
    assert_all_read(judge, base_path, STORED, oracle)

    call_procedure(judge, base_path, "run_clustering", "op => 'execute'", oracle)
    assert shown_clusterings(judge, base_path, oracle) == [
        (scheduled.instant_time, "COMPLETED", 2, "a,a,b,b")
    ]
    assert set(leftovers).isdisjoint(data_files(base_path))
    assert_all_read(judge, base_path, STORED, oracle)


@usually_oldest
def test_we_complete_a_clustering_whose_execution_by_hudi_died(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    instant_time = schedule_theirs(judge, base_path, oracle, "int")
    call_procedure(judge, base_path, "run_clustering", "op => 'execute'", oracle)
    leftovers = _make_clustering_look_interrupted(base_path, instant_time, with_markers=oracle is V9)
    assert_all_read(judge, base_path, STORED, oracle)

    executed = engine.execute_clustering(base_path)
    assert executed.instant_time == instant_time
    assert set(leftovers).isdisjoint(data_files(base_path))
    assert not (base_path / ".hoodie" / ".temp" / instant_time).exists()
    assert_all_read(judge, base_path, STORED, oracle)
    judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))
    assert_all_read(judge, base_path, merged(STORED, TOUCHING), oracle)


def _make_clustering_look_interrupted(
    base_path: Path, instant_time: str, *, with_markers: bool
) -> list[Path]:
    """Make the completed clustering inflight again, and return the files that it wrote."""
    (name,) = instant_names(base_path, ".replacecommit")
    completed = timeline_folder(base_path) / name
    completed.unlink()
    completed.with_name(f".{name}.crc").unlink(missing_ok=True)
    leftovers = [path for path in data_files(base_path) if instant_of(path) == instant_time]
    assert len(leftovers) == 2
    if with_markers:  # Hudi's timeline server writes markers in this format
        folder = base_path / ".hoodie" / ".temp" / instant_time
        folder.mkdir(parents=True)
        (folder / "MARKERS.type").write_text("TIMELINE_SERVER_BASED")
        lines = [f"{path.relative_to(base_path)}.marker.CREATE\n" for path in leftovers]
        (folder / "MARKERS0").write_text("".join(lines))
    return leftovers


@usually_newest
def test_hudi_inserts_rows_but_refuses_updates_while_we_execute_a_plan(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    scheduled = engine.schedule_clustering(base_path)
    news = some_rows(range(200, 204), 3)

    def insert_and_try_to_update() -> None:
        judge.write(base_path, as_table(news), oracle.options("t", **BLOOM))
        with pytest.raises(HudiRefusedError, match="HoodieClusteringUpdateException"):
            judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))

    with just_before_completion(insert_and_try_to_update):
        engine.execute_clustering(base_path)
    assert shown_clusterings(judge, base_path, oracle) == [
        (scheduled.instant_time, "COMPLETED", 2, "a,a,b,b")
    ]
    assert_all_read(judge, base_path, merged(STORED, news), oracle)


@pytest.mark.thorough
@usually_oldest
def test_a_failed_write_after_a_clustering_blocks_hudi_until_its_cleaning_policy_is_lazy(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    engine.schedule_clustering(base_path)
    options = oracle.options("t", **BLOOM)
    with pytest.raises(HudiRefusedError, match="HoodieClusteringUpdateException"):
        judge.write(base_path, as_table(TOUCHING), options)
    engine.cancel_clustering(base_path)
    engine.schedule_clustering(
        base_path
    )  # this plan is newer than the failed write that Hudi left in the table
    engine.execute_clustering(base_path)
    for _ in range(2):
        with pytest.raises(HudiRefusedError, match="please rollback greater commits first"):
            judge.write(base_path, as_table(TOUCHING), options)
    assert_all_read(judge, base_path, STORED, oracle)

    judge.write(base_path, as_table(TOUCHING), {**options, "hoodie.cleaner.policy.failed.writes": "LAZY"})
    assert_all_read(judge, base_path, merged(STORED, TOUCHING), oracle)


@usually_newest
def test_if_updates_are_allowed_hudi_rolls_back_the_plan_that_we_are_executing(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    options = {**oracle.options("t", **BLOOM), **ALLOWING_UPDATES}
    with (
        just_before_completion(lambda: judge.write(base_path, as_table(TOUCHING), options)),
        pytest.raises(InstantVanishedError),
    ):
        engine.execute_clustering(base_path)
    assert not files_of(base_path, scheduled)
    assert shown_clusterings(judge, base_path, oracle) == []
    assert_all_read(judge, base_path, merged(STORED, TOUCHING), oracle)


@usually_oldest
def test_hudi_rolls_back_our_completed_clustering(hudi, fragmented, engine: Engine, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    engine.execute_clustering(base_path)
    undone = f"instant_time => '{scheduled.instant_time}'"
    call_procedure(judge, base_path, "rollback_to_instant", undone, oracle)
    assert not files_of(base_path, scheduled)
    assert_all_read(judge, base_path, STORED, oracle)

    # From version 8 on, if Hudi rolls back a clustering, its plan stays inflight.
    again = engine.execute_clustering(base_path)
    assert again.outcome is (Outcome.NOTHING_TO_DO if oracle is V6_OLD else Outcome.COMPLETED)
    assert_all_read(judge, base_path, STORED, oracle)
    judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))
    assert_all_read(judge, base_path, merged(STORED, TOUCHING), oracle)


@usually_newest
def test_our_write_releases_a_group_of_a_plan_of_hudi_and_hudi_executes_the_rest(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    given_up = schedule_theirs(judge, base_path, oracle, "int")
    updates = some_rows([0], 3)  # row 0 is in partition "a"
    engine.write(base_path, as_table(updates), version=oracle.table_version)
    ((left, state, groups, partitions),) = shown_clusterings(judge, base_path, oracle)
    assert left != given_up
    assert (state, groups, partitions) == ("REQUESTED", 1, "b,b")

    call_procedure(judge, base_path, "run_clustering", "op => 'execute'", oracle)
    assert shown_clusterings(judge, base_path, oracle) == [(left, "COMPLETED", 1, "b,b")]
    (written,) = [path for path in data_files(base_path) if instant_of(path) == left]
    assert is_sorted(written, "int")
    assert_all_read(judge, base_path, merged(STORED, updates), oracle)


@usually_oldest
def test_after_we_cancel_our_clustering_hudi_writes_cleans_and_clusters(
    hudi, fragmented, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    if oracle is V9:  # with V9, an execution of the plan dies; with the other oracle, no execution begins
        die_before_completion(engine, base_path, tmp_path / "dead")
    engine.cancel_clustering(base_path)
    assert not files_of(base_path, scheduled)
    assert shown_clusterings(judge, base_path, oracle) == []
    (rollback,) = call_procedure(judge, base_path, "show_rollbacks", "", oracle)
    assert rollback["rollback_instant"] == scheduled.instant_time
    assert_all_read(judge, base_path, STORED, oracle)

    judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))
    call_procedure(judge, base_path, "run_clean", "retain_commits => 1", oracle)
    call_procedure(judge, base_path, "run_clustering", "order => 'int'", oracle)
    ((_, state, groups, _),) = shown_clusterings(judge, base_path, oracle)
    assert (state, groups) == ("COMPLETED", 2)
    assert_all_read(judge, base_path, merged(STORED, TOUCHING), oracle)


def test_our_plan_can_be_executed_after_hudi_upgraded_the_table(hudi, fragmented, engine: Engine) -> None:
    judge, base_path = hudi(V6.release), fragmented(6)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    options = {key: value for key, value in V6.options("t", **BLOOM).items() if key not in V6.pins}
    news = some_rows(range(200, 204), 3)
    judge.write(base_path, as_table(news), options)
    assert properties(base_path)["hoodie.table.version"] == "9"
    assert shown_clusterings(judge, base_path, V9) == [(scheduled.instant_time, "REQUESTED", 2, "a,a,b,b")]

    executed = engine.execute_clustering(base_path)
    assert (executed.instant_time, executed.completion_time is None) == (scheduled.instant_time, False)
    assert shown_clusterings(judge, base_path, V9) == [(scheduled.instant_time, "COMPLETED", 2, "a,a,b,b")]
    assert_all_read(judge, base_path, merged(STORED, news), V9)


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", [V9], ids=str)
def test_a_clustering_switches_the_metadata_table_off_and_hudi_rebuilds_it_with_the_clustered_files(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    options = {**oracle.options("t", **BLOOM), "hoodie.metadata.enable": "true"}
    rows = some_rows([2, 3, *range(60, 64)], 3)
    judge.write(base_path, as_table(rows), options)
    assert properties(base_path)[LISTED_METADATA]
    judge.call(base_path, "run_clustering", "op => 'schedule', order => 'int'", settings=oracle.pins)

    engine.execute_clustering(base_path, options={"hoodie.metadata.enable": "false"})
    assert not properties(base_path).get(LISTED_METADATA)
    assert not (base_path / ".hoodie" / "metadata").exists()
    model = merged(STORED, rows)
    assert_all_read(judge, base_path, model, oracle, {"hoodie.metadata.enable": "true"})

    judge.write(base_path, as_table(TOUCHING), options)
    assert properties(base_path)[LISTED_METADATA], "Hudi did not build the metadata table again"
    model = merged(model, TOUCHING)
    assert_all_read(judge, base_path, model, oracle, {"hoodie.metadata.enable": "true"})
