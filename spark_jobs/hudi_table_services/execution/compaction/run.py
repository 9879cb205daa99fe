"""Merge the slices of a compaction on Spark, one task per slice. A slice that fails does not end the other tasks."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import HudiTableServiceError, InstantVanishedError
from hudi_table_services.execution.compaction.merge_slice import (
    CompactedSlice,
    CompactionJob,
    SliceTask,
    compact_slice,
)
from hudi_table_services.execution.spark_tasks import run_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)

_BYTES_OF_A_TASK = 80 << 10
"""Cost of opening the files of a slice: the number of bytes that a task writes in the same time."""

_TRIES = 2
"""How often a task tries to merge its slice, if a retry can fix the error, such as a short failure of the storage."""


@dataclass(frozen=True, slots=True)
class FailedSlice:
    """A slice whose merge failed.

    Attributes:
        number: as in `SliceTask`.
    """

    number: int
    error: HudiTableServiceError


@dataclass(frozen=True, slots=True)
class MergedSlices:
    """Outcomes of all tasks, in the order of the tasks."""

    merged: tuple[CompactedSlice, ...]
    failed: tuple[FailedSlice, ...]


MergeSlices: TypeAlias = Callable[[CompactionJob, Sequence[SliceTask], str], MergedSlices]
"""Function that merges all slices; its last argument is the name of the compaction."""


def merge_slices(
    spark: "SparkSession", job: CompactionJob, tasks: Sequence[SliceTask], what: str
) -> MergedSlices:
    """Merge all slices.

    Args:
        what: name of the compaction in descriptions of Spark jobs.

    Raises:
        InstantVanishedError: another attempt owns the plan now.
        ExecutionFailedError: the Spark job failed. Finished slices have records, so the next attempt uses their files.
    """
    outcomes = run_tasks(
        spark,
        tasks,
        lambda task: attempt_slice(job, task),
        description=f"Merge the log files of {counted(len(tasks), 'file slice')} for {what}",
        weights=[_weight(task) for task in tasks],
        measure=_written,
    )
    return sorted_outcomes(outcomes, what)


def sorted_outcomes(outcomes: Sequence[CompactedSlice | FailedSlice], what: str) -> MergedSlices:
    """Separate the merged slices from the failed ones, and log the failures."""
    merged = tuple(each for each in outcomes if isinstance(each, CompactedSlice))
    failed = tuple(each for each in outcomes if isinstance(each, FailedSlice))
    for each in failed:
        _LOG.warning("Operation %d of %s failed: %s", each.number + 1, what, each.error)
    reused = sum(each.is_reused for each in merged)
    if reused:
        _LOG.info("An earlier attempt had merged %s of %s already.", counted(reused, "file slice"), what)
    return MergedSlices(merged, failed)


def attempt_slice(job: CompactionJob, task: SliceTask) -> CompactedSlice | FailedSlice:
    """Merge one slice, on an executor. Return an error as a value, so that the error does not end other tasks.

    Raise InstantVanishedError nevertheless, because then the other tasks have lost the plan, too.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            return compact_slice(job, task)
        except InstantVanishedError:
            raise
        except HudiTableServiceError as error:
            if not error.retryable or not tries_left:
                return FailedSlice(task.number, error)
    raise AssertionError("unreachable")


def _weight(task: SliceTask) -> int:
    """Return the cost of merging a slice, in the unit of `task_groups.group_tasks`."""
    base = task.file_slice.base_file
    return (max(base.size_bytes, 0) if base is not None else 0) + task.log_bytes + _BYTES_OF_A_TASK


def _written(outcome: CompactedSlice | FailedSlice) -> tuple[int, int]:
    if isinstance(outcome, FailedSlice) or outcome.is_reused:
        return 0, 0
    return outcome.stat.num_writes, outcome.stat.file_size_bytes
