"""Convert statistics of the metadata table to ranges that prove which values a column cannot have.

Some statistics that writers of Hudi store prove nothing, so this module leaves them out:

- Floating-point columns with NaN have the bounds 0 and 0, whatever their other values are.
- Hudi compares bounds of binary columns as signed bytes, and bounds of strings by UTF-16 code units. For characters
  from U+D800 on, this order differs from the order of Spark.
"""

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.metadata_table.stat_values import decimal_of_bytes
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    FileColumnRange,
    RangeValue,
    StatKind,
    StatValue,
)
from hudi_table_services.model.schema import DecimalType
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn

_FIRST_SURROGATE = "\ud800"
_DECIMAL_WRAPPER_SCALE = 15


def stored_range(stats: ColumnStats, column: IndexedColumn) -> FileColumnRange | None:
    """Return the range of a column in a file or a partition; None if the statistics prove nothing."""
    if stats.is_deleted or stats.value_count is None:
        return None
    info = stats.value_type.additional_info if stats.value_type else None
    try:
        low, high = (_value(bound, column, info) for bound in (stats.min_value, stats.max_value))
    except CorruptTableError:
        return None  # The column had another type, whose values have another order.
    if (low is None) != (high is None) or (low is not None and not _are_reliable(low, high, column)):
        return None
    return FileColumnRange(
        column=column.name,
        min_value=low,
        max_value=high,
        value_count=stats.value_count,
        null_count=stats.null_count,
        total_size_bytes=0,
        total_uncompressed_bytes=0,
        has_nan=None if column.is_floating else False,
    )


def _value(bound: StatValue | None, column: IndexedColumn, info: str | None) -> RangeValue | None:
    if bound is None:
        return None
    value = column.converted(bound, info).value
    if isinstance(column.data_type, DecimalType) and isinstance(value, bytes):
        is_wrapper = column.kind is StatKind.DECIMAL
        return decimal_of_bytes(value, _DECIMAL_WRAPPER_SCALE if is_wrapper else column.data_type.scale)
    return None if isinstance(value, tuple) else value


def _are_reliable(low: RangeValue, high: RangeValue | None, column: IndexedColumn) -> bool:
    if column.is_floating:
        return not low == 0 == high and low == low and high == high
    if column.kind is StatKind.BYTES and not isinstance(column.data_type, DecimalType):
        return False
    if isinstance(low, str) and isinstance(high, str):
        return low <= high and max(low + high, default="") < _FIRST_SURROGATE
    return True
