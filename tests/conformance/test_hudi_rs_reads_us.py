"""hudi-rs 0.5 reads tables of the engine: snapshots, time travel and incremental reads; table versions 6, 8 and 9."""

from pathlib import Path

import pytest

from judges import hudi_rs
from judges.engine import Engine
from judges.rows import KEY, Model, as_table, assert_rows_equal, merged, some_rows
from judges.table_files import incremental_bounds

VERSIONS = pytest.mark.parametrize("version", [6, pytest.param(8, marks=pytest.mark.thorough), 9])


@pytest.mark.parametrize("is_partitioned", [True, False], ids=["partitioned", "not-partitioned"])
@VERSIONS
def test_hudi_rs_reads_the_current_and_every_earlier_state(
    engine: Engine, tmp_path: Path, version: int, is_partitioned: bool
) -> None:
    base_path = tmp_path / "t"
    commits = [some_rows(range(first, first + 10), first + 1) for first in (0, 4, 8)]
    states: list[Model] = [{}]
    for rows in commits:
        engine.write(base_path, as_table(rows), version=version, is_partitioned=is_partitioned)
        states.append(merged(states[-1], rows))

    assert_rows_equal(hudi_rs.read_snapshot(base_path), states[-1], "hudi-rs")
    for time, state in zip(hudi_rs.request_times(base_path), states[1:], strict=True):
        assert_rows_equal(hudi_rs.read_as_of(base_path, time), state, f"hudi-rs as of {time}")

    bounds = ["0" * 17, *incremental_bounds(base_path)]
    for begin, end, rows in zip(bounds, bounds[1:], commits, strict=False):
        assert_rows_equal(
            hudi_rs.read_incremental(base_path, begin, end), merged({}, rows), f"hudi-rs after {begin}"
        )
    assert hudi_rs.read_incremental(base_path, bounds[-1]).num_rows == 0


@VERSIONS
def test_hudi_rs_reads_neither_deleted_rows_nor_replaced_file_groups(
    engine: Engine, tmp_path: Path, version: int
) -> None:
    base_path = tmp_path / "t"
    rows = some_rows(range(12), 1)
    engine.write(base_path, as_table(rows), version=version)
    engine.write(base_path, as_table(rows[:3]), version=version, operation="delete")
    model = merged({}, rows[3:])
    assert_rows_equal(hudi_rs.read_snapshot(base_path), model, "hudi-rs")

    overwriting = some_rows([100, 102], 2)  # both rows belong to partition "a"
    engine.write(base_path, as_table(overwriting), version=version, operation="insert_overwrite")
    model = merged({row[KEY]: row for row in rows[3:] if row["part"] == "b"}, overwriting)
    assert_rows_equal(hudi_rs.read_snapshot(base_path), model, "hudi-rs")
