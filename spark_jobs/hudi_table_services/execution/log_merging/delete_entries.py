"""Convert the records of delete blocks to log entries, with ordering values in the types of the table's columns."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.execution.log_merging.log_entries import entries_of_deletes
from hudi_table_services.hudi_format.delete_block import DeleteRecord, decode_delete_block
from hudi_table_services.hudi_format.ordering_values import OrderingValue, Wrapper
from hudi_table_services.model.merging.merge_rule import MergeOrder, MergeRule

_WRAPPERS: Mapping[int, Collection[Wrapper]] = {
    pa.bool_().id: (Wrapper.BOOLEAN,),
    pa.int32().id: (Wrapper.INT,),
    pa.int64().id: (Wrapper.LONG,),
    pa.float32().id: (Wrapper.FLOAT,),
    pa.float64().id: (Wrapper.DOUBLE,),
    pa.string().id: (Wrapper.STRING,),
    pa.binary().id: (Wrapper.BYTES,),
    pa.date32().id: (Wrapper.DATE, Wrapper.LOCAL_DATE),
    pa.timestamp("us").id: (Wrapper.LONG, Wrapper.TIMESTAMP_MICROS),
    pa.decimal128(1).id: (Wrapper.DECIMAL,),
}
"""The wrappers that Hudi writes for values of each Arrow type; see `ordering_values.wrapper_of`."""

_Values = tuple[Any, ...]


def entries_of_delete_block(
    rule: MergeRule, content: bytes, block: int, ordering: pa.Schema, what: str
) -> pa.Table:
    """Return the log entries of the records of a delete block.

    Args:
        block: number of the block among the blocks of the slice, in merge order.
        ordering: the ordering columns of the table, with their types.
        what: name of the block, for error messages.

    Raises:
        MalformedMetadataError: see `decode_delete_block`.
        UnsupportedTableError: an ordering value is not of the type of its column, so that Hudi 1.2 fails on each read.
    """
    records = decode_delete_block(content, what)
    values = [_values(rule, record, ordering, what) for record in records]
    columns = [
        pa.array([None if row is None else row[number] for row in values], _storage_type(field.type)).cast(
            field.type
        )
        for number, field in enumerate(ordering)
    ]
    keys = pa.chunked_array([pa.array([record.record_key for record in records], pa.string())])
    unconditional = np.array([row is None for row in values], dtype=bool)
    return entries_of_deletes(
        rule, keys, block, pa.Table.from_arrays(columns, schema=ordering), unconditional
    )


def _values(rule: MergeRule, record: DeleteRecord, ordering: pa.Schema, what: str) -> _Values | None:
    """Return the ordering values of a record, one for each ordering column; None for an unconditional delete."""
    given = record.ordering
    if given is None or given.is_unconditional or not rule.ordering_fields:
        return None
    members: Sequence[OrderingValue | None] = given.value if isinstance(given.value, tuple) else (given,)
    fits = len(members) == len(ordering) and all(map(_fits, members, ordering))
    if fits:
        return tuple(None if member is None else member.value for member in members)
    if rule.order is MergeOrder.VERSION_6:
        return None  # Hudi 0.15 compares an ordering value only if it has the class of the row's value
    columns = ", ".join(f"{field.name} ({field.type})" for field in ordering)
    raise UnsupportedTableError(
        f"{what}: a delete of the key {record.record_key!r} has an ordering value of the type {given.type_name}, but "
        f"the table orders records by {columns}.",
        hint="Hudi 1.x cannot read this block either. Roll back the instant that wrote the file.",
    )


def _fits(member: OrderingValue | None, field: pa.Field) -> bool:
    return member is None or member.wrapper in _WRAPPERS.get(field.type.id, ())


def _storage_type(column_type: pa.DataType) -> pa.DataType:
    """Return the Arrow type in which the value of a wrapper is read, before it is cast to the type of the column."""
    if pa.types.is_timestamp(column_type):
        return pa.int64()
    if pa.types.is_date32(column_type):
        return pa.int32()
    if pa.types.is_decimal(column_type):
        return pa.decimal128(38, 15)
    return column_type
