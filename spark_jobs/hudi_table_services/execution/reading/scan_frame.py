"""Read the slices of a scan as a Spark DataFrame. Each Spark task reads some slices with Arrow (docs/adr/0055)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_table_services.execution.python_worker import map_in_arrow
from hudi_table_services.execution.reading.slice_rows import SliceReader
from hudi_table_services.execution.sessions import connect
from hudi_table_services.execution.spark_tasks import default_parallelism
from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE, group_tasks
from hudi_table_services.model.file_group import FileSlice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType as SparkStructType

_LOG_COST = 4
"""Number of bytes of a base file that a task reads in the time in which it merges one byte of a log file."""


def scan_frame(
    spark: "SparkSession", reader: SliceReader, slices: Sequence[FileSlice], schema: "SparkStructType"
) -> "DataFrame":
    """Return a DataFrame that reads the slices whenever Spark evaluates it.

    Args:
        schema: columns of `reader` as Spark's types; see `spark_schema`.
    """
    if connect.is_connect(spark):
        connect.upload_engine(spark)
    if not slices:
        return spark.createDataFrame([], schema)
    groups = slice_groups(reader, slices, default_parallelism(spark))

    def run_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_slices(reader, groups[number])

    return map_in_arrow(spark.range(0, len(groups), 1, len(groups)), run_partition, schema)


def slice_groups(
    reader: SliceReader, slices: Sequence[FileSlice], parallelism: int
) -> list[tuple[FileSlice, ...]]:
    """Divide slices into groups, one for each Spark task, so that all tasks take about the same time."""
    weights = [_cost(each, reader.share_of_columns) for each in slices]
    return [tuple(slices[i] for i in group) for group in group_tasks(weights, parallelism)]


def read_slices(reader: SliceReader, slices: Iterable[FileSlice]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of slices as record batches."""
    for each in slices:
        for rows in reader.rows(each):
            yield from rows.to_batches()


def spark_schema(json_value: Mapping[str, Any]) -> "SparkStructType":
    """Return the columns that a result of ``StructType.jsonValue()`` contains."""
    from pyspark.sql.types import StructType as SparkStructType

    return SparkStructType.fromJson(dict(json_value))


def _cost(file_slice: FileSlice, share_of_columns: float) -> int:
    base = 0 if file_slice.base_file is None else max(0, file_slice.base_file.size_bytes)
    logs = sum(max(0, log.size_bytes) + BYTES_OF_A_FILE for log in file_slice.log_files)
    return BYTES_OF_A_FILE + int(base * share_of_columns) + _LOG_COST * logs
