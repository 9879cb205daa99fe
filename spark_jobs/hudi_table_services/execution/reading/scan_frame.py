"""Read the slices of a scan as a Spark DataFrame. Each Spark task reads some slices with Arrow (docs/adr/0055)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_table_services.execution.python_worker import map_in_arrow
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


_MAX_KEYS, _MAX_ROWS, _MAX_BYTES = 100, 1000, 8 << 20
"""Largest number of record keys that the driver looks up, and of rows and Arrow bytes that it keeps for them."""

_TYPES_WITH_PYTHON_VALUES = frozenset(
    {"binary", "boolean", "byte", "date", "decimal", "double", "float", "integer", "long", "short", "string"}
    | {"timestamp", "timestamp_ntz"}
)
"""Names of Spark's types for which Arrow and Spark use the same values of Python."""


def scan_frame(
    spark: "SparkSession", reader: SliceReader, slices: Sequence[FileSlice], schema: "SparkStructType"
) -> "DataFrame":
    """Return a DataFrame that reads the slices whenever Spark evaluates it.

    The driver itself reads the rows of a few keys if they are in one file without log files, because the start of a
    Spark task takes longer than this read. The DataFrame then contains the rows.

    Args:
        schema: columns of `reader` as Spark's types; see `spark_schema`.

    Raises:
        HudiTableServiceError: the driver reads the rows, and `SliceReader.rows` raises an error.
    """
    if not slices:
        return _small_frame(spark, [], schema)
    if (rows := _rows_of_few_keys(reader, slices, schema)) is not None:
        return _small_frame(spark, rows, schema)
    if connect.is_connect(spark):
        connect.upload_engine(spark)
    groups = reader.work.groups(slices, default_parallelism(spark))

    def run_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_parts(reader, groups[number])

    return map_in_arrow(spark.range(0, len(groups), 1, len(groups)), run_partition, schema)


def _small_frame(
    spark: "SparkSession", rows: list[tuple[Any, ...]], schema: "SparkStructType"
) -> "DataFrame":
    """Return a DataFrame of the rows with one partition. By default, Spark makes one partition for each core."""
    return spark.createDataFrame(rows, schema).coalesce(1)


def _rows_of_few_keys(
    reader: SliceReader, slices: Sequence[FileSlice], schema: "SparkStructType"
) -> list[tuple[Any, ...]] | None:
    """Return the rows as values of Python, or None if the driver should not read them."""
    if reader.keys is None or len(reader.keys) > _MAX_KEYS or len(slices) > 1 or reader.merges(slices[0]):
        return None
    if not schema.fields or any(
        field.dataType.typeName() not in _TYPES_WITH_PYTHON_VALUES for field in schema.fields
    ):
        return None
    rows: list[tuple[Any, ...]] = []
    size = 0
    for found in reader.rows(SlicePart(slices[0])):
        size += found.nbytes
        if len(rows) + found.num_rows > _MAX_ROWS or size > _MAX_BYTES:
            return None
        try:
            rows += zip(*(column.to_pylist() for column in found.columns), strict=True)
        except (OverflowError, ValueError):
            return None  # Python has no dates and times after the year 9999.
    return rows


def read_parts(reader: SliceReader, parts: Iterable[SlicePart]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of parts of slices as record batches of bounded size."""
    for each in parts:
        for rows in reader.rows(each):
            yield from rows.to_batches(max_chunksize=_ROWS_PER_BATCH)


def spark_schema(json_value: Mapping[str, Any]) -> "SparkStructType":
    """Return the columns that a result of ``StructType.jsonValue()`` contains."""
    from pyspark.sql.types import StructType as SparkStructType

    return SparkStructType.fromJson(dict(json_value))
