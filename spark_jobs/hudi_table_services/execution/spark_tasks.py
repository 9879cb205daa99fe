"""Run a list of tasks on Spark, each group of tasks in one Spark partition.

`spark.range(n)` over n partitions has exactly one id per partition, so a group reaches its executor without a shuffle,
in classic Spark and in Spark Connect. The task descriptions are part of the pickled function. Each group returns its
results as one binary cell. If a task raises a retryable error, Spark retries the task. If no retry can fix the error
(`retryable` is False, or a file is missing), the task returns the error as a value, so the driver receives the error
itself and not the message of Spark's exception. The driver raises this error, or, for a missing file,
ExecutionFailedError with the path of the file.
"""

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from hudi_table_services.errors import (
    ExecutionFailedError,
    HudiTableServiceError,
    InvalidDataError,
    ObjectNotFoundError,
)
from hudi_table_services.execution.driver_tasks import collect_small, fits_driver, run_in_driver
from hudi_table_services.execution.python_worker import map_in_arrow
from hudi_table_services.execution.sessions import connect
from hudi_table_services.execution.sessions.connect import is_connect
from hudi_table_services.execution.sessions.session import is_stopped
from hudi_table_services.execution.sources.malformed_lines import malformed_record_error
from hudi_table_services.execution.task_groups import group_tasks
from hudi_table_services.execution.task_progress import (
    Measure,
    Phase,
    ServerCounts,
    TaskCounts,
    stages_logged,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

_RESULT_SCHEMA = pa.schema([pa.field("result", pa.binary())])
_ERROR_CLASS = re.compile(r"\[(?!PYTHON_)[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*\] .*")
"""Matches an error class of Spark with its message, except the error classes of Python workers, which do not describe
the cause."""
_DATA_EXCEPTION = re.compile(
    r"SQLSTATE: 22|\[(?:CAST_INVALID_INPUT|CANNOT_PARSE_TIMESTAMP|DIVIDE_BY_ZERO|ARITHMETIC_OVERFLOW)\b"
)
"""Matches an error that a value of the rows causes: class 22 of SQLSTATE."""
_SPARK_RESULT_SCHEMA = "result binary"


def nothing_written(_result: object) -> tuple[int, int]:
    """Return 0 rows and 0 bytes: the `measure` function of tasks that write no data files."""
    return 0, 0


def run_tasks(
    spark: "SparkSession",
    tasks: Sequence[TaskT],
    work: Callable[[TaskT], ResultT],
    *,
    description: str,
    weights: Sequence[int] | None = None,
    measure: Measure = nothing_written,
) -> list[ResultT]:
    """Apply `work` to every task on the executors, or in the driver (see `driver_tasks`). Return the results in order.

    Args:
        tasks: picklable descriptions. An empty list starts no Spark job.
        work: picklable function; runs on an executor with one Arrow thread.
        description: job description in the Spark UI, and phase of the job's progress.
        weights: cost of each task in bytes (see `task_groups`), to combine small tasks; None to run each task as a
            separate Spark task.
        measure: picklable function that returns, for the result of a task, the rows and bytes that the task wrote. The
            job's progress contains these numbers.

    Raises:
        HudiTableServiceError: `work` raised an error that a retry cannot fix.
        ExecutionFailedError: a file is missing (the error's `path` names it), or the Spark job failed after Spark's
            own retries.
    """
    if not tasks:
        return []
    if fits_driver(spark, weights):
        with Phase(description, (), None).logged():
            results = run_in_driver(tasks, work)
        if results is not None:
            return results
    return _run_on_workers(spark, tasks, work, description, weights, measure)


def _run_on_workers(
    spark: "SparkSession",
    tasks: Sequence[TaskT],
    work: Callable[[TaskT], ResultT],
    description: str,
    weights: Sequence[int] | None,
    measure: Measure,
) -> list[ResultT]:
    groups: tuple[tuple[int, ...], ...] = tuple((i,) for i in range(len(tasks)))
    if weights is not None:
        with translated_errors(spark, description):
            parallelism = default_parallelism(spark)
        groups = group_tasks(weights, parallelism)
    grouped = [[(index, tasks[index]) for index in group] for group in groups]
    sizes = list(weights) if weights is not None else [1] * len(tasks)
    counts = TaskCounts.of(spark)

    def run_one(index: int, task: TaskT) -> tuple[int, ResultT]:
        result = work(task)
        if counts is not None:
            counts.add(sizes[index], measure(result))
        return index, result

    def run_group(number: int) -> list[tuple[int, ResultT]]:
        return [run_one(index, task) for index, task in grouped[number]]

    def run_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _guarded(partial(run_group, number))

    numbers = spark.range(0, len(grouped), 1, len(grouped))
    frame = map_in_arrow(numbers, run_partition, _SPARK_RESULT_SCHEMA)
    by_index: dict[int, ResultT] = {}
    with Phase(description, sizes, counts or ServerCounts.of(spark, sizes)).logged():
        for results in collect_results(spark, frame, description):
            by_index.update(results)
    return [by_index[index] for index in range(len(tasks))]


def map_batches(
    frame: "DataFrame",
    work: Callable[[Iterator[pa.RecordBatch]], ResultT],
    *,
    description: str,
    may_collect: bool = False,
) -> list[ResultT]:
    """Pass each Spark partition of a frame to `work` as Arrow batches, and return one result per partition.

    Args:
        may_collect: whether the driver may collect a small frame and pass it to `work` as one part; see `driver_tasks`.

    Raises:
        HudiTableServiceError: see `collect_results`.
    """

    def run_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _guarded(lambda: work(iter(batches)))

    spark = frame.sparkSession
    with stages_logged(spark, description):
        if may_collect and fits_driver(spark):
            with translated_errors(spark, description):
                batches = collect_small(frame)
            results = None if batches is None else run_in_driver([batches], lambda each: work(iter(each)))
            if results is not None:
                return results
        return collect_results(spark, map_in_arrow(frame, run_partition, _SPARK_RESULT_SCHEMA), description)


def collect_results(spark: "SparkSession", frame: "DataFrame", description: str) -> list[Any]:
    """Run a frame whose cells are results of `_guarded`, and return these results.

    Raises:
        HudiTableServiceError: at least one result is an error of this class. The function raises the first of these
            errors.
        InvalidDataError: Spark cannot process a value, such as a string that is cast to a number, or the files of the
            source have different types for a column.
        ExecutionFailedError: the Spark job failed, or a result is the error of a missing file.
    """
    with translated_errors(spark, description):
        _describe(spark, description)
        try:
            rows = frame.collect()
        finally:
            # If the JVM has ended, this call fails too, but the error of the Spark job says more.
            with suppress(Exception):
                _describe(spark, None)
    results = [pickle.loads(row[0]) for row in rows]  # noqa: S301 - written by this job's own workers
    for result in results:
        if isinstance(result, ObjectNotFoundError):
            raise ExecutionFailedError(
                f"Spark failed in the step: {description}. {result.message}", path=result.path
            ) from result
        if isinstance(result, HudiTableServiceError):
            raise result
    return results


@contextmanager
def translated_errors(spark: "SparkSession", description: str) -> Iterator[None]:
    """Translate an exception of a Spark job. Spark's exception classes differ between classic and Connect."""
    try:
        yield
    except Exception as error:
        if _has_lost_spark(spark, error):
            raise ExecutionFailedError(
                f"Spark ended in the step: {description}. The JVM of its driver is shutting down or has ended.",
                hint="Either another program ended the JVM, or memory was short. See the logs of Spark and of the "
                "machine, then run the request again.",
            ) from error
        cause = _cause_line(error)
        if "PARQUET_COLUMN_DATA_TYPE_MISMATCH" in str(error):
            raise _different_types(cause) from error
        if (malformed := malformed_record_error(error)) is not None:
            raise malformed from error
        if _DATA_EXCEPTION.search(cause):
            raise InvalidDataError(
                f"Spark cannot process a value of the rows: {cause}",
                hint="Correct the value in the source, or the expression in the source query.",
            ) from error
        raise ExecutionFailedError(f"Spark failed in the step: {description}. {cause}") from error


def _different_types(cause: str) -> InvalidDataError:
    """Return the error about Parquet files of one source that store a column as different types."""
    return InvalidDataError(
        f"The Parquet files of the source have different types for a column: {cause}",
        hint="Spark reads all files with the types of one of them. Load files with other types in a separate write, or "
        "write them again with the same types. An integer column of pandas becomes a column of doubles if values are "
        "missing; Int64 keeps it an integer.",
    )


def _guarded(work: Callable[[], object]) -> pa.RecordBatch:
    """Run the work, and pickle the result."""
    try:
        result: object = work()
    except ObjectNotFoundError as error:
        result = error  # a retry would not find the missing file either
    except HudiTableServiceError as error:
        if error.retryable:
            raise
        result = error
    payload = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
    return pa.record_batch([pa.array([payload], pa.binary())], schema=_RESULT_SCHEMA)


def _describe(spark: "SparkSession", description: str | None) -> None:
    """Set the description of the next Spark job. With Spark Connect, which has no job descriptions, do nothing."""
    context = getattr(spark, "sparkContext", None) if not is_connect(spark) else None
    if context is not None:
        context.setJobDescription(description)


def _has_lost_spark(spark: "SparkSession", error: Exception) -> bool:
    """Whether the JVM of Spark's driver has ended or is shutting down.

    The function compares the names of error classes, because py4j, which defines one of them, is not always installed.
    """
    names = {each.__name__ for each in type(error).__mro__}
    return (
        isinstance(error, ConnectionError)
        or "Py4JNetworkError" in names
        or "SparkContext was shut down" in str(error)
        or is_stopped(spark)
    )


def _cause_line(error: Exception) -> str:
    """Return the line of the message with the cause: an error class of Spark, or else the last Python or Java error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = next((found[0] for line in lines if (found := _ERROR_CLASS.search(line))), None)
    if named is not None:
        return named
    lines = [
        line for line in lines if not line.startswith(("at ", "... "))
    ]  # without the lines of Java's stack
    causes = [line for line in lines if "Error:" in line or "Exception:" in line]
    return (causes or lines or [type(error).__name__])[-1]


def default_parallelism(spark: "SparkSession") -> int:
    """Return the number of tasks that the cluster runs in parallel."""
    return connect.parallelism(spark) if is_connect(spark) else int(spark.sparkContext.defaultParallelism)
