"""Encode the deletes of a batch as contents of DELETE blocks.

A delete carries the ordering value of its row, so that readers can compare the delete with other versions of the
record. All deletes of a block have ordering values of one type, because readers fail on blocks with several types.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.hudi_format.delete_block import DeleteRecord, encode_delete_block
from hudi_table_services.hudi_format.ordering_values import UNCONDITIONAL, OrderingValue, Wrapper


@dataclass(frozen=True, slots=True)
class DeleteOrdering:
    """The ordering values that deletes carry.

    Attributes:
        wrappers: maps each ordering column, in the order of comparison, to the wrapper of its values. Empty if all
            deletes are unconditional.
    """

    wrappers: Mapping[str, Wrapper]

    def values(self, rows: pa.Table) -> list[OrderingValue]:
        """Return the ordering values of rows that are marked as deletes.

        If there is a single ordering column, a row with a null in this column is an unconditional delete.
        """
        if not self.wrappers:
            return [UNCONDITIONAL] * rows.num_rows
        columns = [_wrapped(rows[name], wrapper) for name, wrapper in self.wrappers.items()]
        if len(columns) == 1:
            return [UNCONDITIONAL if value is None else value for value in columns[0]]
        return [OrderingValue(Wrapper.ARRAY, tuple(values)) for values in zip(*columns, strict=True)]


UNORDERED = DeleteOrdering({})
"""All deletes are unconditional."""


def delete_contents(
    keys: Sequence[str], partition_path: str, ordering: Sequence[OrderingValue]
) -> tuple[bytes, ...]:
    """Return the contents of DELETE blocks: one for each type of ordering value, sorted by the name of the type.

    Args:
        ordering: ordering value of each key.

    Raises:
        InvalidDataError: an ordering value does not fit its type, or one of several ordering values is null.
    """
    by_type: dict[str, list[DeleteRecord]] = {}
    for key, value in zip(keys, ordering, strict=True):
        by_type.setdefault(value.type_name, []).append(DeleteRecord(key, partition_path, value))
    return tuple(encode_delete_block(by_type[name]) for name in sorted(by_type))


def _wrapped(column: pa.ChunkedArray, wrapper: Wrapper) -> list[OrderingValue | None]:
    return [None if value is None else OrderingValue(wrapper, value) for value in _scalars(column)]


def _scalars(column: pa.ChunkedArray) -> list[Any]:
    """Return the values as wrappers contain them: dates as days, and timestamps as microseconds, since 1970."""
    if pa.types.is_timestamp(column.type):
        column = pc.cast(pc.cast(column, pa.timestamp("us", column.type.tz)), pa.int64())
    elif pa.types.is_date(column.type):
        column = pc.cast(pc.cast(column, pa.date32()), pa.int32())
    values: list[Any] = column.to_pylist()
    return values
