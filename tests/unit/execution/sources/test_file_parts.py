"""Parts of Parquet files: each row group belongs to exactly one part."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.sources.file_parts import (
    MAX_PART_BYTES,
    FilePart,
    divide,
    row_groups_of,
)
from hudi_table_services.execution.task_groups import BYTES_OF_A_SPARK_TASK

SIZES = st.lists(st.integers(0, 3 * MAX_PART_BYTES), max_size=30)


@given(SIZES, st.integers(1, 64))
def test_each_byte_is_in_one_part_and_parts_are_in_order(sizes: list[int], parallelism: int) -> None:
    tasks = divide(sizes, parallelism)
    assert all(tasks)
    position = [(part.file, part.start, part.stop) for task in tasks for part in task]
    assert position == sorted(position)
    for file, size in enumerate(sizes):
        parts = [part for task in tasks for part in task if part.file == file]
        ends = [0, *(part.stop for part in parts)]
        assert [part.start for part in parts] == ends[:-1]
        assert ends[-1] == size
    loads = [sum(part.stop - part.start for part in task) for task in tasks]
    assert all(BYTES_OF_A_SPARK_TASK <= load <= MAX_PART_BYTES for load in loads[:-1])


def test_a_small_source_is_one_task_and_a_large_source_keeps_all_cores_busy() -> None:
    assert len(divide([1_000] * 50, 8)) == 1
    assert len(divide([2 << 30], 2)) == (2 << 30) // MAX_PART_BYTES
    assert len(divide([600 << 20], 8)) == 24


@pytest.mark.parametrize("row_group_size", [10, 1_000])
@pytest.mark.parametrize("part_bytes", [1, 97, 1_000, 1 << 20])
def test_each_row_group_belongs_to_one_part(tmp_path: Path, row_group_size: int, part_bytes: int) -> None:
    path = tmp_path / "rows.parquet"
    rows = pa.table({"id": list(range(100)), "text": [f"row {number}" for number in range(100)]})
    pq.write_table(rows, path, row_group_size=row_group_size)
    metadata, size = pq.read_metadata(path), path.stat().st_size
    starts = range(0, size, part_bytes)
    parts = [FilePart(0, start, min(size, start + part_bytes)) for start in starts]
    found = [number for part in parts for number in row_groups_of(metadata, part)]
    assert found == list(range(metadata.num_row_groups))
