"""`read_table` on Spark returns the same rows and columns as real Hudi."""

from pathlib import Path

import pytest

from hudi_table_services.reading.read_table import read_table
from judges.engine import Engine
from judges.merge_on_read.shared_log_tables import SharedTable
from judges.oracle import EDGES, V9, Oracle
from judges.reading.reads_compared import assert_same_rows
from judges.rows import META_COLUMNS, as_table, some_rows
from judges.table_files import incremental_bounds, instant_names
from support.depth import cases
from support.reading.read_here import AS_OF, READ_OPTIMIZED, window
from support.spark.arrow_rows import arrow_of


def compare_frames(judge, engine: Engine, base_path: Path, times: list[str], bounds: list[str]) -> None:
    """Compare the latest state, an earlier state, the base files, and a window of two commits.

    Args:
        times: requested times of the commits.
        bounds: the times with which incremental queries compare their bounds.
    """
    for options in (
        {},
        READ_OPTIMIZED,
        {AS_OF: times[0]},
        {AS_OF: times[1]},
        window(bounds[0], bounds[2]),
        window(bounds[1]),
    ):
        frame = read_table(engine.spark, str(base_path), options)
        assert frame.columns[:5] == META_COLUMNS
        theirs = judge.read_with_meta_columns(base_path, options)
        assert_same_rows(arrow_of(frame), theirs, f"read_table with {options}")


@pytest.mark.parametrize("oracle", cases(EDGES, [V9]))
def test_dataframes_of_merge_on_read_tables_have_the_rows_of_hudi(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    table = SharedTable(tmp_path / "t", oracle, hudi(oracle.release))
    table.hudi_writes(some_rows(range(8), 5), "insert")
    table.hudi_writes(some_rows(range(3), 6))
    table.write(some_rows(range(2, 10), 7))
    table.write(some_rows([7], 8), "delete")
    assert table.log_paths()
    times = [
        name.partition(".")[0].partition("_")[0] for name in instant_names(table.base_path, ".deltacommit")
    ]
    compare_frames(table.judge, engine, table.base_path, times, table.bounds())


@pytest.mark.parametrize("oracle", cases(EDGES, []))
def test_dataframes_of_copy_on_write_tables_have_the_rows_of_hudi(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    for number, first in enumerate((0, 4, 8), start=1):
        judge.write(base_path, as_table(some_rows(range(first, first + 8), number)), oracle.options("t"))
    times = [name.partition(".")[0].partition("_")[0] for name in instant_names(base_path, ".commit")]
    compare_frames(judge, engine, base_path, times, incremental_bounds(base_path))
