"""Which steps a driver of Spark Connect runs itself."""

from typing import Any

import pytest

from hudi_table_services.execution.driver_tasks import MAX_STEP_BYTES, MAX_TASKS, fits_driver
from hudi_table_services.execution.writing import record_index
from hudi_table_services.execution.writing.tagging import BaseFileRef, TagTask
from hudi_table_services.storage.stores.memory import MemoryStorage
from support.spark.in_driver import DriverSession

CONNECT: Any = DriverSession()


def test_the_driver_runs_small_steps_with_few_tasks() -> None:
    assert fits_driver(CONNECT, [MAX_STEP_BYTES])
    assert not fits_driver(CONNECT, [MAX_STEP_BYTES, 1])
    assert fits_driver(CONNECT, [1] * MAX_TASKS)
    assert not fits_driver(CONNECT, [1] * (MAX_TASKS + 1))
    assert not fits_driver(CONNECT, None)


@pytest.mark.parametrize(
    ("sizes", "is_small"),
    [([2 << 20] * 4, True), ([10 << 10] * 30, True), ([10 << 10] * 40, False), ([-1] * 8, False)],
)
def test_a_look_up_costs_each_file_by_its_size_within_bounds(sizes: list[int], is_small: bool) -> None:
    files = tuple(BaseFileRef("p", str(number), "f", size_bytes=size) for number, size in enumerate(sizes))
    task = TagTask(storage=MemoryStorage("steps"), folder="f", batches=(), base_files=files)
    assert fits_driver(CONNECT, [record_index._weight(task)]) is is_small
