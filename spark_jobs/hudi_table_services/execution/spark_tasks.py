"""Run a list of tasks on Spark, each group of them in a Spark partition of its own.

`spark.range(n)` over n partitions holds exactly one id each, so a group reaches its executor without a shuffle,
under classic Spark and Spark Connect alike. Task descriptions travel in the pickled function, results come
back as one binary cell. Spark retries a task whose error is worth a retry. An error that cannot go away
(`retryable` false, or a missing file) is handed back as a value, so that the driver knows the original class and path.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from hudi_table_services.errors import ExecutionFailedError, HudiTableServiceError, ObjectNotFoundError
from hudi_table_services.execution.task_groups import group_tasks
from hudi_table_services.execution.task_progress import Measure, Phase, TaskCounts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

_RESULT_SCHEMA = pa.schema([pa.field("result", pa.binary())])
_SPARK_RESULT_SCHEMA = "result binary"


def nothing_written(_result: object) -> tuple[int, int]:
    """The measure of tasks that write no data files."""
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
    """Apply `work` to every task on the executors and return the results in task order.

    Args:
        tasks: picklable descriptions. None at all starts no Spark job.
        work: picklable, runs on an executor with one Arrow thread.
        description: shown as job description in the Spark UI, and as phase of the job's progress.
        weights: cost of each task in bytes (see `task_groups`), to put small ones together; None: each is a Spark
            task.
        measure: picklable; what a result means for the job's progress.

    Raises:
        HudiTableServiceError: what `work` raised, when a retry cannot help.
        ExecutionFailedError: Spark gave up after its own retries.
    """
    if not tasks:
        return []
    groups = tuple((i,) for i in range(len(tasks)))
    if weights is not None:
        groups = group_tasks(weights, default_parallelism(spark))
    grouped = [[(index, tasks[index]) for index in group] for group in groups]
    sizes = list(weights) if weights is not None else [1] * len(tasks)
    counts = TaskCounts.of(spark)

    def run_one(index: int, task: TaskT) -> tuple[int, ResultT]:
        result = work(task)
        if counts is not None:
            counts.add(sizes[index], measure(result))
        return index, result

    def run_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _guarded(
                    lambda number=number: [run_one(index, task) for index, task in grouped[number]]
                )

    frame = spark.range(0, len(grouped), 1, len(grouped)).mapInArrow(run_partition, _SPARK_RESULT_SCHEMA)
    by_index: dict[int, ResultT] = {}
    with Phase(description, sizes, counts).told():
        for results in collect_results(spark, frame, description):
            by_index.update(results)
    return [by_index[index] for index in range(len(tasks))]


def map_batches(
    frame: "DataFrame",
    work: Callable[[Iterator[pa.RecordBatch]], ResultT],
    *,
    description: str,
) -> list[ResultT]:
    """Feed each Spark partition of a frame to `work` as Arrow batches; one result per partition."""

    def run_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _guarded(lambda: work(iter(batches)))

    with Phase(description, (), None).told():
        return collect_results(
            frame.sparkSession, frame.mapInArrow(run_partition, _SPARK_RESULT_SCHEMA), description
        )


def collect_results(spark: "SparkSession", frame: "DataFrame", description: str) -> list[Any]:
    """Run the frame of `_guarded` results; raise the first error handed back."""
    _describe(spark, description)
    try:
        rows = frame.collect()
    except Exception as error:  # Spark's exception classes differ between classic and Connect
        raise ExecutionFailedError(f"Spark failed while doing: {description}. {_last_line(error)}") from error
    finally:
        _describe(spark, None)
    results = [pickle.loads(row[0]) for row in rows]  # noqa: S301 - written by our own workers just now
    for result in results:
        if isinstance(result, ObjectNotFoundError):
            raise ExecutionFailedError(
                f"Spark failed while doing: {description}. {result.message}", path=result.path
            ) from result
        if isinstance(result, HudiTableServiceError):
            raise result
    return results


def _guarded(work: Callable[[], object]) -> pa.RecordBatch:
    """Run on one Arrow thread; two workers on two cores fight otherwise."""
    pa.set_cpu_count(1)
    try:
        result: object = work()
    except ObjectNotFoundError as error:
        result = error  # reading a missing file again does not help
    except HudiTableServiceError as error:
        if error.retryable:
            raise
        result = error
    payload = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
    return pa.record_batch([pa.array([payload], pa.binary())], schema=_RESULT_SCHEMA)


def _describe(spark: "SparkSession", description: str | None) -> None:
    """Name the Spark job where the session can: Spark Connect has no job descriptions before tags."""
    context = getattr(spark, "sparkContext", None) if not _is_connect(spark) else None
    if context is not None:
        context.setJobDescription(description)


def _is_connect(spark: "SparkSession") -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _last_line(error: Exception) -> str:
    """The line of a worker's traceback that names the cause, without Spark's Java frames."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if "Error:" in line and not line.startswith("at ")]
    return (ours or lines or [type(error).__name__])[-1]


def default_parallelism(spark: "SparkSession") -> int:
    """Tasks the cluster runs at once, as far as the session tells; 2 under Spark Connect."""
    context = getattr(spark, "sparkContext", None) if not _is_connect(spark) else None
    return int(context.defaultParallelism) if context is not None else 2
