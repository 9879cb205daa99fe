"""A merge streams the base file, so the memory of a worker does not grow with the size of the file."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hudi_table_services.execution.file_groups import WriteTask, write_file_group
from hudi_table_services.execution.staging import BASE_ROW_COLUMN, CHANGE_COLUMN
from hudi_table_services.execution.writing.merging import Change
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from support.spark.file_group_tasks import BATCH_ROWS, COLUMNS, MIB, insert_task, staged, write_job
from support.spark.memory import peak_memory_bytes


def write_base_file(root: str, batch_count: int) -> str:
    """Write a base file with this number of batches of rows, and return its name."""
    job = write_job(root, "20260101000000000")
    return write_file_group(job, insert_task(job, batch_count)).stat.path.removeprefix("p/")


def merge(root: str, base_name: str) -> tuple[int, int]:
    """Update the first thousand rows of the base file; return its number of rows and the peak memory of the process."""
    job = write_job(root, "20260102000000000")
    hits = pa.array(np.arange(1000, dtype=np.int64))
    kinds = pa.array(np.full(1000, Change.UPDATE, dtype=np.int8))
    changes = staged(job, "changes", 1, **{BASE_ROW_COLUMN: hits, CHANGE_COLUMN: kinds})
    base = BaseFile.from_file_name(base_name)
    current = FileSlice(
        file_group_id=FileGroupId("p", "f-0"), base_instant_time=base.instant_time, base_file=base
    )
    task = WriteTask(
        number=0, partition_path="p", file_id="f-0", current=current, changes=tuple(changes.batches)
    )
    stat = write_file_group(job, task).stat
    assert stat.num_update_writes == 1000
    return stat.num_writes, peak_memory_bytes()


@pytest.mark.thorough
def test_the_memory_of_a_merge_does_not_grow_with_the_base_file(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    peaks = {}
    for batch_count in (8, 64):
        root = str(tmp_path / str(batch_count))
        with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as fresh:
            base_name = fresh.submit(write_base_file, root, batch_count).result()
            rows, peaks[batch_count] = fresh.submit(merge, root, base_name).result()
        assert rows == batch_count * BATCH_ROWS
    grown_rows_bytes = 56 * BATCH_ROWS * COLUMNS * 8
    assert grown_rows_bytes > 150 * MIB
    assert peaks[64] - peaks[8] < 32 * MIB, peaks
