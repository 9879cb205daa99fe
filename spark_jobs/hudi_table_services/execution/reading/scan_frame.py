"""Read the slices of a scan as a Spark DataFrame. Each Spark task reads some slices with Arrow (docs/adr/0055)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_table_services.execution.python_worker import map_in_arrow
from hudi_table_services.execution.reading.few_keys import rows_of_few_keys
from hudi_table_services.execution.reading.local_rows import local_frame
from hudi_table_services.execution.reading.slice_parts import SlicePart
from hudi_table_services.execution.reading.slice_rows import SliceReader
from hudi_table_services.execution.sessions import connect
from hudi_table_services.execution.spark_tasks import default_parallelism
from hudi_table_services.model.file_group import FileSlice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType as SparkStructType

_ROWS_PER_BATCH = 1 << 14
"""Largest number of rows that a task sends to the JVM at once. Small batches cost the JVM about 10 % less time, because
they fit into the cache of the processor."""


def scan_frame(
    spark: "SparkSession", reader: SliceReader, slices: Sequence[FileSlice], schema: "SparkStructType"
) -> "DataFrame":
    """Return a DataFrame that reads the slices whenever Spark evaluates it.

    The driver itself reads the rows of a few keys if they are in one file without log files, because the start of a
    Spark task takes longer than this read. The DataFrame then contains the rows.

    Args:
        schema: columns of `reader` as Spark's types; see `spark_schema`.

    Raises:
        HudiTableServiceError: see `rows_of_few_keys`.
    """
    if not slices:
        return local_frame(spark, [], schema)
    if (rows := rows_of_few_keys(reader, slices, schema)) is not None:
        return local_frame(spark, rows, schema)
    if connect.is_connect(spark):
        connect.upload_engine(spark)
    groups = reader.work.groups(slices, default_parallelism(spark))

    def run_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_parts(reader, groups[number])

    return map_in_arrow(spark.range(0, len(groups), 1, len(groups)), run_partition, schema)


def read_parts(reader: SliceReader, parts: Iterable[SlicePart]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of parts of slices as record batches of bounded size."""
    for each in parts:
        for rows in reader.rows(each):
            yield from rows.to_batches(max_chunksize=_ROWS_PER_BATCH)


def spark_schema(json_value: Mapping[str, Any]) -> "SparkStructType":
    """Return the columns that a result of ``StructType.jsonValue()`` contains."""
    from pyspark.sql.types import StructType as SparkStructType

    return SparkStructType.fromJson(dict(json_value))
