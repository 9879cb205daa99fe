"""Clusterings shared with real Hudi: each side executes plans of the other side, and both can write afterwards.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 6, 8 and 9; hudi-rs 0.5 also reads the tables.
Every table has all data types. Partitioned tables have two files per partition and a file group with an older slice.
"""

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pytest

from judges import hudi_rs
from judges.clusterings import (
    BLOOM,
    NO_PADDING,
    STORED,
    TOUCHING,
    assert_all_read,
    call_procedure,
    files_of,
    is_sorted,
    schedule_theirs,
    shown_clusterings,
)
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.oracle import SAMPLED_ORACLES, V6_OLD, V8, V9, Oracle
from judges.rows import KEY, META_COLUMNS, Model, as_table, assert_rows_equal, merged, rows_by_key, some_rows
from judges.table_files import data_files, incremental_bounds, instant_names, latest_data_files

FILE_NAME = "_hoodie_file_name"

# These columns contain negative and null values, decimals beyond 64 bits, and strings with a common prefix.
CURVE_COLUMNS = ("int", "wide_decimal", "date", "instant", "text")
# The clustering writes two files, so that the layout determines which rows each file contains.
TWO_FILES = {
    "hoodie.clustering.plan.strategy.small.file.limit": "12000",
    "hoodie.clustering.plan.strategy.target.file.max.bytes": "12000",
}


@pytest.mark.parametrize("oracle", SAMPLED_ORACLES)
def test_hudi_lists_our_plan_and_executes_it_in_the_planned_order(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("boolean", "int"))
    assert shown_clusterings(judge, base_path, oracle) == [
        (scheduled.instant_time, "REQUESTED", 2, "a,a,b,b")
    ]

    call_procedure(judge, base_path, "run_clustering", "op => 'execute'", oracle)
    assert shown_clusterings(judge, base_path, oracle) == [
        (scheduled.instant_time, "COMPLETED", 2, "a,a,b,b")
    ]
    written = files_of(base_path, scheduled)
    assert sorted(path.parent.name for path in written) == ["a", "b"]
    for path in written:
        assert is_sorted(path, "boolean", "int")
    assert_all_read(judge, base_path, STORED, oracle)


@pytest.mark.parametrize(
    ("oracle", "layout"),
    [(V6_OLD, "zorder"), (V8, "hilbert"), pytest.param(V9, "zorder", marks=pytest.mark.thorough)],
    ids=str,
)
def test_hudi_changes_no_planned_file_and_finds_every_row_in_the_layout_of_our_clustering(
    hudi, fragmented, engine: Engine, oracle: Oracle, layout: str
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    before = judge.read_with_meta_columns(base_path)
    scheduled = engine.schedule_clustering(
        base_path, sort_columns=CURVE_COLUMNS, layout=layout, options=TWO_FILES
    )
    with pytest.raises(HudiRefusedError, match="HoodieClusteringUpdateException"):
        judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))

    engine.execute_clustering(base_path)
    assert shown_clusterings(judge, base_path, oracle) == [
        (scheduled.instant_time, "COMPLETED", 2, "a,a,b,b")
    ]
    written = files_of(base_path, scheduled)
    assert sorted(path.parent.name for path in written) == ["a", "a", "b", "b"]
    _assert_only_moved(judge, base_path, before, written)

    judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))
    assert_all_read(judge, base_path, merged(STORED, TOUCHING), oracle)


@pytest.mark.parametrize(
    ("oracle", "order"),
    [(V6_OLD, "boolean,int"), pytest.param(V9, "", marks=pytest.mark.thorough)],
    ids=lambda value: str(value) or "unsorted",
)
def test_hudi_and_we_can_write_after_we_execute_a_plan_of_hudi(
    hudi, fragmented, engine: Engine, oracle: Oracle, order: str
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    theirs = some_rows([2, 3, *range(60, 80)], 3)
    judge.write(base_path, as_table(theirs), oracle.options("t", **BLOOM))
    before = judge.read_with_meta_columns(base_path)
    planned, last_write = latest_data_files(base_path), incremental_bounds(base_path)[-1]
    schedule_theirs(judge, base_path, oracle, order)

    executed = engine.execute_clustering(base_path)
    written = files_of(base_path, executed)
    assert shown_clusterings(judge, base_path, oracle) == [
        (executed.instant_time, "COMPLETED", 2, "a,a,a,b,b,b")
    ]
    assert all(is_sorted(path, *order.split(",")) for path in written if order)
    _assert_only_moved(judge, base_path, before, written)
    assert judge.read_incremental(base_path, last_write).num_rows == 0

    model = _let_hudi_write_and_maintain(judge, base_path, merged(STORED, theirs), oracle)
    assert set(planned).isdisjoint(data_files(base_path)), (
        "the clean of Hudi did not delete the files that our clustering replaced"
    )
    assert not [name for name in instant_names(base_path) if name.startswith(executed.instant_time)]
    assert_all_read(judge, base_path, model, oracle)
    ours = some_rows(range(70, 90), 5)
    engine.write(base_path, as_table(ours), version=oracle.table_version)
    assert_all_read(judge, base_path, merged(model, ours), oracle)


def _let_hudi_write_and_maintain(judge: HudiJudge, base_path: Path, model: Model, oracle: Oracle) -> Model:
    """Let Hudi change rows of our clustered files, and then cluster, clean and archive. Return the expected rows."""
    news = some_rows(range(50, 84), 4)
    judge.write(base_path, as_table(news), oracle.options("t", **BLOOM))
    victims = [model[key] for key in sorted(model)[:5]]
    options = {**oracle.options("t", **BLOOM), "hoodie.datasource.write.operation": "delete"}
    judge.write(base_path, as_table(victims), options)
    model = merged(model, news)
    model = {key: row for key, row in model.items() if key not in {victim[KEY] for victim in victims}}
    assert_rows_equal(judge.read(base_path), model, str(oracle))

    before = instant_names(base_path, ".replacecommit")
    call_procedure(judge, base_path, "run_clustering", "order => 'int'", oracle)
    assert len(instant_names(base_path, ".replacecommit")) == len(before) + 1
    call_procedure(judge, base_path, "run_clean", "retain_commits => 1", oracle)
    archival = "min_commits => 2, max_commits => 3, retain_commits => 1, enable_metadata => false"
    call_procedure(judge, base_path, "archive_commits", archival, oracle)
    return model


@pytest.mark.thorough
def test_each_side_executes_plans_of_the_other_side_on_a_table_without_partitions(
    hudi, engine: Engine, tmp_path: Path
) -> None:
    oracle = V9
    judge, base_path, version = hudi(oracle.release), tmp_path / "t", oracle.table_version
    rows = some_rows(range(20), 1)
    for batch in (rows[:12], rows[12:]):
        engine.write(base_path, as_table(batch), version=version, is_partitioned=False, options=NO_PADDING)
    schedule_theirs(judge, base_path, oracle, "int")
    engine.execute_clustering(base_path)
    assert_all_read(judge, base_path, merged({}, rows), oracle)

    news = some_rows(range(8, 28), 2)
    judge.write(base_path, as_table(news), oracle.options("t", is_partitioned=False, **BLOOM))
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    call_procedure(judge, base_path, "run_clustering", "op => 'execute'", oracle)
    (written,) = files_of(base_path, scheduled)
    assert is_sorted(written, "int")
    assert_all_read(judge, base_path, merged(merged({}, rows), news), oracle)


def _assert_only_moved(judge: HudiJudge, base_path: Path, before: pa.Table, files: Collection[Path]) -> None:
    """Check that all values and meta columns of the rows are unchanged, except the column with the file name."""
    after = judge.read_with_meta_columns(base_path)
    names = set(after.column(FILE_NAME).to_pylist())
    assert names == {path.name for path in files}
    assert names.isdisjoint(before.column(FILE_NAME).to_pylist())
    model = rows_by_key(before.drop_columns([FILE_NAME]))
    assert_rows_equal(after.drop_columns([FILE_NAME]), model, judge.release)
    values = rows_by_key(before.drop_columns(META_COLUMNS))
    assert_rows_equal(hudi_rs.read_snapshot(base_path), values, "hudi-rs")
