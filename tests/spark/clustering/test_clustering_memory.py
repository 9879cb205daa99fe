"""One option limits the memory of a worker of a clustering, independently of the size of the group.

See docs/clustering.md.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from hudi_table_services.execution.clustering.exchange import (
    Buckets,
    arrow_bytes,
    distribute,
    is_measured,
    output_tasks,
    sample_file,
    write_share,
)
from hudi_table_services.execution.clustering.inputs import InputFile
from hudi_table_services.execution.clustering.rewrite import (
    GroupOutcome,
    GroupTask,
    RewriteJob,
    TooLarge,
    rewrite_group,
)
from hudi_table_services.execution.file_groups import write_file_group
from hudi_table_services.model.clustering import Layout, LayoutStrategy
from hudi_table_services.storage.locks.heartbeat import Heartbeat
from support.spark.file_group_tasks import BATCH_ROWS, MIB, insert_task, write_job
from support.spark.memory import peak_memory_bytes

INSTANT_TIME = "20260301000000000"
STAGED = ".hoodie/.aux/staging/dealt.arrow"
FILE_BATCHES = 5
FILE_ARROW_MIB = 31.6
TASK_MEMORY_MIB = 32
MARGIN_MIB = 40


def write_inputs(root: str, files: int) -> list[InputFile]:
    """Write base files whose rows need `FILE_ARROW_MIB` of memory each, and return them as inputs of a group."""
    inputs = []
    for number in range(files):
        job = write_job(root, f"20260101{number:06d}000")
        stat = write_file_group(job, insert_task(job, FILE_BATCHES)).stat
        inputs.append(InputFile(stat.path, stat.file_size_bytes))
    return inputs


def clustering_job(root: str) -> RewriteJob:
    written = write_job(root, INSTANT_TIME)
    return RewriteJob(
        storage=written.storage,
        instant_time=INSTANT_TIME,
        attempt="me",
        data_schema=written.data_schema,
        avro_schema_json=written.avro_schema_json,
        parquet=written.parquet,
        bloom=written.bloom,
        layout=Layout(columns=("c0", "c1"), strategy=LayoutStrategy.ZORDER),
        task_memory_bytes=TASK_MEMORY_MIB * MIB,
        staging_folder=STAGED.rpartition("/")[0],
    )


def exchange(job: RewriteJob, task: GroupTask) -> list[GroupOutcome]:
    """Run the steps of an exchange one after another in this process; Spark would run them in several tasks."""
    count = len(task.inputs)
    samples = [
        sample_file(job, file, count, is_measured(place, count)) for place, file in enumerate(task.inputs)
    ]
    assert arrow_bytes(samples) == pytest.approx(count * FILE_ARROW_MIB * MIB, rel=0.05)
    buckets = Buckets.of(job, samples)
    distributed = [distribute(job, task, buckets, STAGED)]
    return [write_share(job, share) for share in output_tasks(task, buckets, distributed)]


def in_memory(job: RewriteJob, task: GroupTask) -> list[GroupOutcome]:
    outcome = rewrite_group(job, task)
    assert not isinstance(outcome, TooLarge)
    return [outcome]


def peak_mib(
    root: str, inputs: list[InputFile], rewrite: Callable[[RewriteJob, GroupTask], list[GroupOutcome]]
) -> float:
    """Rewrite the files into the same number of files. Return by how many MiB this raised the peak memory."""
    job = clustering_job(root)
    heartbeat = Heartbeat(job.storage, INSTANT_TIME, owner=job.attempt)
    heartbeat.start()
    ids = tuple(f"o{len(inputs)}-{number}" for number in range(len(inputs)))
    task = GroupTask(index=0, partition_path="p", inputs=tuple(inputs), file_ids=ids)
    before = peak_memory_bytes()
    outcomes = rewrite(job, task)
    heartbeat.stop()
    rows = [file.stat.num_writes for outcome in outcomes for file in outcome.written]
    assert rows == [FILE_BATCHES * BATCH_ROWS] * len(inputs)
    return (peak_memory_bytes() - before) / MIB


def measured(
    root: Path, *sizes: int, rewrite: Callable[[RewriteJob, GroupTask], list[GroupOutcome]]
) -> list[float]:
    """Call `peak_mib` for groups with these numbers of files; a new process measures each group."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as fresh:
        inputs = fresh.submit(write_inputs, str(root), max(sizes)).result()
        return [fresh.submit(peak_mib, str(root), inputs[:size], rewrite).result() for size in sizes]


@pytest.mark.thorough
def test_the_memory_of_an_exchange_does_not_grow_with_the_group(tmp_path: Path) -> None:
    double, eightfold = measured(tmp_path, 2, 8, rewrite=exchange)
    assert eightfold - double < TASK_MEMORY_MIB, (double, eightfold)
    assert max(double, eightfold) < 1.3 * TASK_MEMORY_MIB + 170 + MARGIN_MIB, (double, eightfold)


@pytest.mark.thorough
def test_the_memory_of_a_group_that_is_sorted_in_memory_is_limited(tmp_path: Path) -> None:
    (peak,) = measured(tmp_path, 1, rewrite=in_memory)
    assert peak < 2.5 * TASK_MEMORY_MIB + 170 + MARGIN_MIB, peak
