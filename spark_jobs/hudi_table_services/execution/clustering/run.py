"""Rewrite the groups of a clustering on Spark.

A small group is rewritten in one task. The rows of a large group are either sorted by an exchange, or, without sort
columns, written by one task per output file.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import ExecutionFailedError
from hudi_table_services.execution.clustering.exchange import (
    Buckets,
    Distributed,
    distribute,
    is_measured,
    output_tasks,
    sample_file,
    write_share,
)
from hudi_table_services.execution.clustering.inputs import InputFile, open_input
from hudi_table_services.execution.clustering.key_checksum import KeyChecksum
from hudi_table_services.execution.clustering.rewrite import (
    GroupOutcome,
    GroupTask,
    Input,
    RewriteJob,
    TooLarge,
    merged_columns,
    outcome_of,
    rewrite_group,
    write_output,
)
from hudi_table_services.execution.clustering.row_order import divide_evenly
from hudi_table_services.execution.spark_tasks import default_parallelism, run_tasks
from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE, group_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)

_FILTER_BYTES = 420 << 10
"""Bytes of a bloom filter for 60,000 keys, as in each file of Hudi. The cost of an input does not include these bytes,
because reading a filter costs almost nothing."""

_BYTES_OF_AN_INPUT = 40 << 10
"""Cost of opening a file and its columns: the number of bytes that a task writes in the same time, 2.5 ms."""

_ARROW_BYTES_PER_BASE_FILE_BYTE = 3
"""Low estimate of Arrow bytes per byte of a base file. A group that turns out to be too large for one task is then
rewritten in several tasks."""


RewriteGroups: TypeAlias = Callable[[RewriteJob, Sequence[GroupTask], str], list[GroupOutcome]]
"""Type of a function that has the arguments of `rewrite_groups` except the session."""


def rewrite_groups(
    spark: "SparkSession", job: RewriteJob, groups: Sequence[GroupTask], what: str
) -> list[GroupOutcome]:
    """Rewrite all groups, and check that each group has the same rows and keys afterwards.

    Args:
        what: name of the clustering in descriptions of Spark jobs.

    Returns:
        One outcome per group, in order of `groups`.

    Raises:
        ExecutionFailedError: the Spark job failed, or rows were lost. Nothing was committed.
    """
    outcomes = _rewrite_in_one_task_each(spark, job, groups, what)
    large = [group for group in groups if group.index not in outcomes]
    if large:
        rewrite_large = _exchange if job.layout.is_sorted else _rewrite_unsorted
        outcomes.update(rewrite_large(spark, job, large, what))
    for group in groups:
        check_outcome(group, outcomes[group.index])
    return [outcomes[group.index] for group in groups]


def _rewrite_in_one_task_each(
    spark: "SparkSession", job: RewriteJob, groups: Sequence[GroupTask], what: str
) -> dict[int, GroupOutcome]:
    """Rewrite the groups that fit into one task. The result maps the indices of these groups to their outcomes."""
    parallelism = default_parallelism(spark)
    small = [group for group in groups if _fits_a_task(job, group, len(groups), parallelism)]
    results = run_tasks(
        spark,
        small,
        lambda group: rewrite_group(job, group),
        description=f"Rewrite {counted(len(small), 'group')} of {what}",
        weights=[_weight(group.inputs) for group in small],
        measure=_written,
    )
    outcomes: dict[int, GroupOutcome] = {}
    for result in results:
        if isinstance(result, TooLarge):
            _LOG.info("Group %d of %s is too large for a task's memory", result.index, what)
        else:
            outcomes[result.index] = result
    return outcomes


def _written(outcome: GroupOutcome | TooLarge) -> tuple[int, int]:
    files = outcome.written if isinstance(outcome, GroupOutcome) else ()
    return sum(file.stat.num_writes for file in files), sum(file.stat.file_size_bytes for file in files)


def _fits_a_task(job: RewriteJob, group: GroupTask, groups: int, parallelism: int) -> bool:
    if not job.layout.is_sorted and len(group.file_ids) == 1:
        return True  # streamed
    arrow_bytes = group.input_bytes * _ARROW_BYTES_PER_BASE_FILE_BYTE
    occupies_the_cluster = groups >= parallelism or arrow_bytes <= job.task_memory_bytes // 4
    return arrow_bytes <= job.task_memory_bytes and occupies_the_cluster


def _weight(files: Sequence[InputFile]) -> int:
    """Return the cost of rewriting the files, in the unit of `group_tasks`."""
    return sum(max(0, file.total_bytes - _FILTER_BYTES) + _BYTES_OF_AN_INPUT for file in files)


def _exchange(
    spark: "SparkSession", job: RewriteJob, groups: Sequence[GroupTask], what: str
) -> dict[int, GroupOutcome]:
    buckets = _buckets(spark, job, groups, what)
    distributed = _distribute(spark, job, groups, buckets, what)
    tasks = [
        task
        for group in groups
        for task in output_tasks(group, buckets[group.index], distributed[group.index])
    ]
    outcomes = run_tasks(
        spark,
        tasks,
        lambda task: write_share(job, task),
        description=f"Write {counted(len(tasks), 'file')} of {what}",
        measure=_written,
    )
    return {
        group.index: _joined(group, [o for o in outcomes if o.index == group.index], distributed[group.index])
        for group in groups
    }


def _buckets(
    spark: "SparkSession", job: RewriteJob, groups: Sequence[GroupTask], what: str
) -> dict[int, Buckets]:
    files = [
        (group.index, file, len(group.inputs), is_measured(position, len(group.inputs)))
        for group in groups
        for position, file in enumerate(group.inputs)
    ]
    samples = run_tasks(
        spark,
        files,
        lambda each: sample_file(job, *each[1:]),
        description=f"Sample {counted(len(files), 'file')} of {what}",
        weights=[_weight([file]) for _, file, *_ in files],
    )
    by_group: dict[int, list[int]] = {}
    for number, (index, *_) in enumerate(files):
        by_group.setdefault(index, []).append(number)
    return {index: Buckets.of(job, [samples[i] for i in numbers]) for index, numbers in by_group.items()}


def _distribute(
    spark: "SparkSession",
    job: RewriteJob,
    groups: Sequence[GroupTask],
    buckets: dict[int, Buckets],
    what: str,
) -> dict[int, list[Distributed]]:
    parts = [part for group in groups for part in _parts(group, default_parallelism(spark))]
    folder, numbered = job.staging_folder, list(enumerate(parts))
    distributed = run_tasks(
        spark,
        numbered,
        lambda pair: distribute(job, pair[1], buckets[pair[1].index], _staged_path(folder, pair[0])),
        description=f"Distribute the rows of {counted(sum(len(g.inputs) for g in groups), 'file')} of {what}",
    )
    by_group: dict[int, list[Distributed]] = {}
    for each in distributed:
        by_group.setdefault(each.index, []).append(each)
    return by_group


def _staged_path(folder: str, number: int) -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    attempt = context.taskAttemptId() if context is not None else 0
    return f"{folder}/distributed-{number}-{attempt}.arrow"


def _parts(group: GroupTask, parallelism: int) -> list[GroupTask]:
    """Divide the group's inputs into portions for Spark tasks. Within a portion the files keep their order."""
    weights = [_weight([file]) for file in group.inputs]
    return [
        replace(group, inputs=tuple(group.inputs[i] for i in sorted(indices)))
        for indices in group_tasks(weights, parallelism)
    ]


def _joined(
    group: GroupTask, shares: Sequence[GroupOutcome], distributed: Sequence[Distributed]
) -> GroupOutcome:
    return outcome_of(
        group,
        (file for share in shares for file in share.written),
        sum((each.read for each in distributed), KeyChecksum()),
        sum(each.footer_rows for each in distributed),
        (r for each in distributed for r in each.ranges),
        (s for each in distributed for s in each.skipped),
    )


@dataclass(frozen=True, slots=True)
class _Share:
    """One output file of a group that is not sorted.

    Attributes:
        group: the group, with the id of this file and the inputs that contain its rows.
        first_row: position of the file's first row among the rows of these inputs.
    """

    group: GroupTask
    first_row: int
    rows: int


def _rewrite_unsorted(
    spark: "SparkSession", job: RewriteJob, groups: Sequence[GroupTask], what: str
) -> dict[int, GroupOutcome]:
    files = [file for group in groups for file in group.inputs]
    counts = run_tasks(
        spark,
        files,
        lambda file: _counted(job, file),
        description=f"Count the rows of {counted(len(files), 'file')} of {what}",
        weights=[BYTES_OF_A_FILE] * len(files),
    )
    rows_of_file = {file.path: rows for file, (rows, _) in zip(files, counts, strict=True)}
    skipped_of_file = {file.path: skipped for file, (_, skipped) in zip(files, counts, strict=True)}
    shares = [share for group in groups for share in _shares(group, rows_of_file)]
    outcomes = run_tasks(
        spark,
        shares,
        lambda share: _write_unsorted_share(job, share),
        description=f"Write {counted(len(shares), 'file')} of {what}",
        measure=_written,
    )
    return {
        group.index: outcome_of(
            group,
            (f for o in outcomes if o.index == group.index for f in o.written),
            sum((o.read for o in outcomes if o.index == group.index), KeyChecksum()),
            sum(rows_of_file[path] for path in {file.path for file in group.inputs}),
            skipped=(each for file in group.inputs for each in skipped_of_file[file.path]),
        )
        for group in groups
    }


def _counted(job: RewriteJob, file: InputFile) -> tuple[int, tuple[tuple[str, int], ...]]:
    """Return the number of rows, and the parts of log files that the merge skips."""
    # Without the size, only the footer of a base file is read.
    whole = replace(file, size_bytes=-1)
    with open_input(job.storage, whole, job.merging, merged_columns(job)) as opened:
        return opened.row_count, opened.skipped


def _shares(group: GroupTask, rows_of_file: dict[str, int]) -> Iterator[_Share]:
    total = sum(rows_of_file[file.path] for file in group.inputs)
    for index, (start, stop) in enumerate(divide_evenly(total, len(group.file_ids))):
        inputs: list[InputFile] = []
        first_row = position = 0
        for file in group.inputs:
            rows = rows_of_file[file.path]
            if position < stop and position + rows > start:
                if not inputs:
                    first_row = start - position
                inputs.append(file)
            position += rows
        part = replace(
            group,
            inputs=tuple(inputs),
            file_ids=(group.file_ids[index],),
            first_number=group.first_number + index,
        )
        yield _Share(part, max(0, first_row), stop - start)


def _write_unsorted_share(job: RewriteJob, share: _Share) -> GroupOutcome:
    source = _InputRange(Input(job, share.group.inputs), share.first_row, share.rows)
    written = write_output(job, share.group, 0, source.rows())
    return outcome_of(share.group, written, source.checksum, 0)


class _InputRange:
    """A range of the rows of an input, with the checksum of the keys of these rows."""

    def __init__(self, source: Input, first_row: int, rows: int) -> None:
        self._source = source
        self._first_row = first_row
        self._rows = rows
        self.checksum = KeyChecksum()

    def rows(self) -> Iterator[pa.Table]:
        skip, left = self._first_row, self._rows
        for table in self._source.rows():
            part = table.slice(skip, left)
            skip = max(0, skip - table.num_rows)
            if part.num_rows:
                left -= part.num_rows
                self.checksum += KeyChecksum.of(part["_hoodie_record_key"])
                yield part
            if left == 0:
                return


_ROWS_DIFFER_HINT = (
    "Nothing was committed; the table is unchanged. Run the job again. If it fails again, send this message and the "
    "log of the job to the maintainers of this project."
)


def check_outcome(group: GroupTask, outcome: GroupOutcome) -> None:
    """Raise ExecutionFailedError if some rows were not read, or if the written rows differ from the read rows."""
    if outcome.read.rows != outcome.footer_rows:
        raise ExecutionFailedError(
            f"The job read {counted(outcome.read.rows, 'row')} for a group of partition {group.partition_path!r}, but "
            f"the footers of {counted(len(group.inputs), 'file')} record {counted(outcome.footer_rows, 'row')}"
            f"{', with the changes in log files' if any(f.logged for f in group.inputs) else ''}.",
            hint=_ROWS_DIFFER_HINT,
        )
    written = sum((file.checksum for file in outcome.written), KeyChecksum())
    if written != outcome.read:
        raise ExecutionFailedError(
            f"The files written for a group of partition {group.partition_path!r} do not contain the same rows: the "
            f"job read {counted(outcome.read.rows, 'row')} with the key checksum {outcome.read.hash_sum:x} and "
            f"wrote {counted(written.rows, 'row')} with the key checksum {written.hash_sum:x}.",
            hint=_ROWS_DIFFER_HINT,
        )
