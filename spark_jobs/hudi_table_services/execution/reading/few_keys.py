"""Read the rows of a few record keys in the driver, because the start of a Spark task takes longer (docs/adr/0055)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hudi_table_services.execution.reading.local_rows import FLAT_TYPES
from hudi_table_services.execution.reading.slice_parts import SlicePart
from hudi_table_services.execution.reading.slice_rows import SliceReader
from hudi_table_services.model.file_group import FileSlice

if TYPE_CHECKING:
    from pyspark.sql.types import StructType as SparkStructType

_MAX_KEYS, _MAX_VALUES, _MAX_BYTES = 100, 500, 1 << 20
"""Largest number of record keys that the driver looks up, and of values and Arrow bytes of their rows. Spark parses
500 values of an inline table in about 50 ms, and starts a task with Python in about 100 ms."""


def rows_of_few_keys(
    reader: SliceReader, slices: Sequence[FileSlice], schema: "SparkStructType"
) -> list[tuple[Any, ...]] | None:
    """Return the rows as values of Python, or None if Spark's tasks should read them.

    Tasks read more keys, rows of several files or of log files, more values, nested types, and dates and times that
    Python does not have.

    Args:
        schema: the columns of `reader` as Spark's types.

    Raises:
        HudiTableServiceError: see `SliceReader.rows`.
    """
    if reader.keys is None or len(reader.keys) > _MAX_KEYS or len(slices) > 1 or reader.merges(slices[0]):
        return None
    if not schema.fields or any(field.dataType.typeName() not in FLAT_TYPES for field in schema.fields):
        return None
    rows: list[tuple[Any, ...]] = []
    size = 0
    for found in reader.rows(SlicePart(slices[0])):
        size += found.nbytes
        if (len(rows) + found.num_rows) * found.num_columns > _MAX_VALUES or size > _MAX_BYTES:
            return None
        try:
            rows += zip(*(column.to_pylist() for column in found.columns), strict=True)
        except (OverflowError, ValueError):
            return None  # Python has no dates and times after the year 9999.
    return rows
