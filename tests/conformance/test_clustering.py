"""Clusterings shared with real Hudi: each side executes what the other planned, and both go on writing afterwards.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 6, 8 and 9; hudi-rs 0.5 reads along. Every table
has all data types, two files per partition and a file group with an older slice.
"""

import functools
import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.contract.job_result import JobResult
from judges import hudi_rs
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.interruption import just_before_completion
from judges.oracle import EDGES, ORACLES, V6, V6_OLD, V8, V9, Oracle
from judges.rows import (
    KEY,
    META_COLUMNS,
    OUR_ROWS,
    Model,
    as_table,
    assert_rows_equal,
    merged,
    rows_by_key,
    some_rows,
)
from judges.table_files import (
    copy_table,
    data_files,
    incremental_bounds,
    instant_names,
    instant_of,
    latest_data_files,
    timeline_folder,
)

every_oracle = pytest.mark.parametrize("oracle", ORACLES, ids=str)
oldest_and_newest = pytest.mark.parametrize("oracle", EDGES, ids=str)

# Nothing is padded: inserts get file groups of their own, and a key that the index misses becomes a duplicate.
NO_PADDING = {"hoodie.parquet.small.file.limit": "0"}
BLOOM = {"index__type": "BLOOM", "parquet__small__file__limit": "0"}

NEWER = some_rows([0, 1, *range(40, 60)], 2)
STORED = merged(merged({}, OUR_ROWS), NEWER)
# One row of each partition, so that Hudi merges files and leaves most rows of them as we wrote them.
TOUCHING = some_rows([0, 1], 3)

FILE_NAME = "_hoodie_file_name"

# Negative and null values, decimals beyond 64 bits, texts with one prefix; containers ride along unsorted.
CURVE_COLUMNS = ("int", "wide_decimal", "date", "instant", "text")
# Two files out of two, so that the order decides which rows come together.
TWO_FILES = {
    "hoodie.clustering.plan.strategy.small.file.limit": "12000",
    "hoodie.clustering.plan.strategy.target.file.max.bytes": "12000",
}


@pytest.fixture(scope="module")
def two_commits(
    first_commits: Callable[[int], Path], engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], Path]:
    """As :func:`fragmented`, made once per version: read only."""
    folder = tmp_path_factory.mktemp("two-commits")

    @functools.cache
    def written(version: int) -> Path:
        base_path = copy_table(first_commits(version), folder / f"v{version}")
        engine.write(base_path, as_table(NEWER), version=version, options=NO_PADDING)
        return base_path

    return written


@pytest.fixture
def fragmented(two_commits: Callable[[int], Path], tmp_path: Path) -> Callable[[int], Path]:
    """``fragmented(8)`` is a version 8 table that holds :data:`STORED`, two files in each of two partitions."""
    return lambda version: copy_table(two_commits(version), tmp_path / "t")


# ---------------------------------------------------------------- Hudi executes our plans


@every_oracle
def test_hudi_lists_our_plan_and_executes_it_in_the_planned_order(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("boolean", "int"))
    assert _shown(judge, base_path, oracle) == [(scheduled.instant_time, "REQUESTED", 2, "a,a,b,b")]

    _call(judge, base_path, "run_clustering", "op => 'execute'", oracle)
    assert _shown(judge, base_path, oracle) == [(scheduled.instant_time, "COMPLETED", 2, "a,a,b,b")]
    written = _files_of(base_path, scheduled)
    assert sorted(path.parent.name for path in written) == ["a", "b"]
    for path in written:
        assert _is_sorted(path, "boolean", "int")
    _assert_all_read(judge, base_path, STORED, oracle)


@oldest_and_newest
def test_hudi_takes_over_a_clustering_that_we_left_half_way(
    hudi, fragmented, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    leftovers = _die_before_completion(engine, base_path, tmp_path / "dead")
    _assert_all_read(judge, base_path, STORED, oracle)

    _call(judge, base_path, "run_clustering", "op => 'execute'", oracle)
    assert _shown(judge, base_path, oracle) == [(scheduled.instant_time, "COMPLETED", 2, "a,a,b,b")]
    assert set(leftovers).isdisjoint(data_files(base_path))
    _assert_all_read(judge, base_path, STORED, oracle)


# ---------------------------------------------------------------- we execute our plans beside Hudi


@pytest.mark.parametrize(
    ("oracle", "layout"),
    [(V6_OLD, "zorder"), (V8, "hilbert"), (V9, "zorder")],
    ids=str,
)
def test_hudi_keeps_off_our_plan_and_finds_every_row_in_the_layout_we_gave_them(
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
    assert _shown(judge, base_path, oracle) == [(scheduled.instant_time, "COMPLETED", 2, "a,a,b,b")]
    written = _files_of(base_path, scheduled)
    assert sorted(path.parent.name for path in written) == ["a", "a", "b", "b"]
    _assert_only_moved(judge, base_path, before, written)

    judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))
    _assert_all_read(judge, base_path, merged(STORED, TOUCHING), oracle)


# ---------------------------------------------------------------- we execute Hudi's plans


@pytest.mark.parametrize(
    ("oracle", "order"),
    [(V6_OLD, "boolean,int"), (V6, ""), (V8, ""), (V9, "boolean,int")],
    ids=lambda value: str(value) or "unsorted",
)
def test_we_execute_the_plan_of_hudi_and_both_go_on(
    hudi, fragmented, engine: Engine, oracle: Oracle, order: str
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    theirs = some_rows([2, 3, *range(60, 80)], 3)
    judge.write(base_path, as_table(theirs), oracle.options("t", **BLOOM))
    before = judge.read_with_meta_columns(base_path)
    planned, last_write = latest_data_files(base_path), incremental_bounds(base_path)[-1]
    _schedule_theirs(judge, base_path, oracle, order)

    executed = engine.execute_clustering(base_path)
    written = _files_of(base_path, executed)
    assert _shown(judge, base_path, oracle) == [(executed.instant_time, "COMPLETED", 2, "a,a,a,b,b,b")]
    assert all(_is_sorted(path, *order.split(",")) for path in written if order)
    _assert_only_moved(judge, base_path, before, written)
    assert judge.read_incremental(base_path, last_write).num_rows == 0

    model = _let_hudi_go_on(judge, base_path, merged(STORED, theirs), oracle)
    assert set(planned).isdisjoint(data_files(base_path)), "the cleaner left files that we replaced"
    _assert_all_read(judge, base_path, model, oracle)
    ours = some_rows(range(70, 90), 5)
    engine.write(base_path, as_table(ours), version=oracle.table_version)
    _assert_all_read(judge, base_path, merged(model, ours), oracle)


def _let_hudi_go_on(judge: HudiJudge, base_path: Path, model: Model, oracle: Oracle) -> Model:
    """Update rows of the files we clustered, delete some, cluster, clean; the rows that must be there then."""
    news = some_rows(range(50, 84), 4)
    judge.write(base_path, as_table(news), oracle.options("t", **BLOOM))
    victims = [model[key] for key in sorted(model)[:5]]
    options = {**oracle.options("t", **BLOOM), "hoodie.datasource.write.operation": "delete"}
    judge.write(base_path, as_table(victims), options)
    model = merged(model, news)
    model = {key: row for key, row in model.items() if key not in {victim[KEY] for victim in victims}}
    assert_rows_equal(judge.read(base_path), model, str(oracle))

    before = instant_names(base_path, ".replacecommit")
    _call(judge, base_path, "run_clustering", "order => 'int'", oracle)
    assert len(instant_names(base_path, ".replacecommit")) == len(before) + 1
    _call(judge, base_path, "run_clean", "retain_commits => 1", oracle)
    return model


@oldest_and_newest
def test_we_take_over_a_clustering_that_hudi_left_half_way(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    instant_time = _schedule_theirs(judge, base_path, oracle, "int")
    _call(judge, base_path, "run_clustering", "op => 'execute'", oracle)
    leftovers = _as_if_hudi_had_died(base_path, instant_time, with_markers=oracle is V9)
    _assert_all_read(judge, base_path, STORED, oracle)

    executed = engine.execute_clustering(base_path)
    assert executed.instant_time == instant_time
    assert set(leftovers).isdisjoint(data_files(base_path))
    assert not (base_path / ".hoodie" / ".temp" / instant_time).exists()
    _assert_all_read(judge, base_path, STORED, oracle)
    judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))
    _assert_all_read(judge, base_path, merged(STORED, TOUCHING), oracle)


def _as_if_hudi_had_died(base_path: Path, instant_time: str, *, with_markers: bool) -> list[Path]:
    """Take the completed clustering back to inflight; the files that it wrote, which count no longer."""
    (name,) = instant_names(base_path, ".replacecommit")
    completed = timeline_folder(base_path) / name
    completed.unlink()
    completed.with_name(f".{name}.crc").unlink(missing_ok=True)
    leftovers = [path for path in data_files(base_path) if instant_of(path) == instant_time]
    assert len(leftovers) == 2
    if with_markers:  # as Hudi's timeline server keeps them
        folder = base_path / ".hoodie" / ".temp" / instant_time
        folder.mkdir(parents=True)
        (folder / "MARKERS.type").write_text("TIMELINE_SERVER_BASED")
        lines = [f"{path.relative_to(base_path)}.marker.CREATE\n" for path in leftovers]
        (folder / "MARKERS0").write_text("".join(lines))
    return leftovers


# ---------------------------------------------------------------- tables without partitions


@oldest_and_newest
def test_both_execute_plans_of_the_other_on_a_table_without_partitions(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path, version = hudi(oracle.release), tmp_path / "t", oracle.table_version
    rows = some_rows(range(20), 1)
    for batch in (rows[:12], rows[12:]):
        engine.write(base_path, as_table(batch), version=version, is_partitioned=False, options=NO_PADDING)
    _schedule_theirs(judge, base_path, oracle, "int")
    engine.execute_clustering(base_path)
    _assert_all_read(judge, base_path, merged({}, rows), oracle)

    news = some_rows(range(8, 28), 2)
    judge.write(base_path, as_table(news), oracle.options("t", is_partitioned=False, **BLOOM))
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    _call(judge, base_path, "run_clustering", "op => 'execute'", oracle)
    (written,) = _files_of(base_path, scheduled)
    assert _is_sorted(written, "int")
    _assert_all_read(judge, base_path, merged(merged({}, rows), news), oracle)


# ---------------------------------------------------------------- cancelled clusterings


@pytest.mark.parametrize("oracle", [V6_OLD, V8, V9], ids=str)
def test_after_a_clustering_of_ours_was_cancelled_hudi_writes_cleans_and_clusters(
    hudi, fragmented, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    scheduled = engine.schedule_clustering(base_path, sort_columns=("int",))
    if oracle in EDGES:  # it was being executed; elsewhere nobody had begun
        _die_before_completion(engine, base_path, tmp_path / "dead")
    engine.cancel_clustering(base_path)
    assert not _files_of(base_path, scheduled)
    assert _shown(judge, base_path, oracle) == []
    (rollback,) = _call(judge, base_path, "show_rollbacks", "", oracle)
    assert rollback["rollback_instant"] == scheduled.instant_time
    _assert_all_read(judge, base_path, STORED, oracle)

    judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))
    _call(judge, base_path, "run_clean", "retain_commits => 1", oracle)
    _call(judge, base_path, "run_clustering", "order => 'int'", oracle)
    ((_, state, groups, _),) = _shown(judge, base_path, oracle)
    assert (state, groups) == ("COMPLETED", 2)
    _assert_all_read(judge, base_path, merged(STORED, TOUCHING), oracle)


# ---------------------------------------------------------------- what the tests share


def _call(
    judge: HudiJudge, base_path: Path, procedure: str, arguments: str, oracle: Oracle
) -> list[dict[str, object]]:
    settings = {"hoodie.metadata.enable": "false", **oracle.pins}
    return judge.call(base_path, procedure, arguments, settings=settings)


def _shown(judge: HudiJudge, base_path: Path, oracle: Oracle) -> list[tuple[object, ...]]:
    """Clusterings that Hudi sees: requested time, state, number of groups, partition of each planned file."""
    names = ("timestamp", "state", "input_group_size", "involved_partitions")
    shown = _call(judge, base_path, "show_clustering", "show_involved_partition => true", oracle)
    return [tuple(row[name] for name in names) for row in shown]


def _schedule_theirs(judge: HudiJudge, base_path: Path, oracle: Oracle, order: str) -> str:
    """Let Hudi schedule a clustering; its instant time."""
    given = f", order => '{order}'" if order else ""
    _call(judge, base_path, "run_clustering", f"op => 'schedule'{given}", oracle)
    ((instant_time, state, _, _),) = _shown(judge, base_path, oracle)
    assert state == "REQUESTED"
    return str(instant_time)


def _die_before_completion(engine: Engine, base_path: Path, dead: Path) -> list[Path]:
    """Execute the pending plan up to where ``kill -9`` hurts most; the data files that it leaves behind."""
    before = data_files(base_path)
    with just_before_completion(lambda: _copy(base_path, dead)):
        engine.execute_clustering(base_path)
    shutil.rmtree(base_path)
    dead.rename(base_path)
    heartbeat, lock = base_path / ".hoodie" / ".heartbeat", base_path / ".hoodie" / "lock"
    for left in (*heartbeat.iterdir(), lock):
        left.unlink()  # as if it had expired
    leftovers = sorted(set(data_files(base_path)) - set(before))
    assert leftovers, "nothing was left behind: the test would prove nothing"
    return leftovers


def _copy(base_path: Path, target: Path) -> None:
    copy_table(base_path, target)


def _files_of(base_path: Path, result: JobResult) -> list[Path]:
    return [path for path in data_files(base_path) if instant_of(path) == result.instant_time]


def _is_sorted(path: Path, *columns: str) -> bool:
    """Whether the rows are in ascending order, nulls first."""
    rows = pq.read_table(path, columns=list(columns), partitioning=None).to_pylist()
    keys = [_order(list(row.values())) for row in rows]
    return len(keys) > 1 and keys == sorted(keys)


def _order(values: Sequence[object]) -> list[tuple[bool, object]]:
    return [(value is not None, value if value is not None else 0) for value in values]


def _assert_only_moved(judge: HudiJudge, base_path: Path, before: pa.Table, files: Collection[Path]) -> None:
    """Rows keep all values and everything that Hudi's own columns say of them, but for the file they are in."""
    after = judge.read_with_meta_columns(base_path)
    names = set(after.column(FILE_NAME).to_pylist())
    assert names == {path.name for path in files}
    assert names.isdisjoint(before.column(FILE_NAME).to_pylist())
    model = rows_by_key(before.drop_columns([FILE_NAME]))
    assert_rows_equal(after.drop_columns([FILE_NAME]), model, judge.release)
    values = rows_by_key(before.drop_columns(META_COLUMNS))
    assert_rows_equal(hudi_rs.read_snapshot(base_path), values, "hudi-rs")


def _assert_all_read(judge: HudiJudge, base_path: Path, model: Model, oracle: Oracle) -> None:
    assert_rows_equal(judge.read(base_path), model, str(oracle))
    assert_rows_equal(hudi_rs.read_snapshot(base_path), model, "hudi-rs")
