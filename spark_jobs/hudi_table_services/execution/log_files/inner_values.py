"""Read and write values of structs, lists and maps. The Avro library converts these values one by one."""

import io
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.execution.log_files.block_schema import AvroType
from hudi_table_services.execution.log_files.logical_values import to_logical, to_physical
from hudi_table_services.execution.numpy_types import Integers

_BATCH_BYTES = 4 << 20
"""Bytes of the values that become Python objects at the same time. An object needs up to a hundred times as many bytes
as the encoded value."""
_NAME = "value"


def read_inner_values(
    content: io.BytesIO, starts: Integers, ends: Integers, avro_type: AvroType, *, is_wanted: bool
) -> tuple[pa.Array, Integers]:
    """Return the values at these positions, and the positions after them. No value is null.

    Args:
        ends: positions after the records that contain the values.
        is_wanted: if False, the function only skips the values, and the returned array is empty.

    Raises:
        MalformedMetadataError: a value is damaged.
    """
    schema = fastavro.parse_schema(_not_null(avro_type))
    batches: list[pa.Array] = []
    values: list[Any] = []
    behind, read_bytes = np.empty(len(starts), np.int64), 0
    for number, (start, record_end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        content.seek(start)
        value = _read(content, schema)
        behind[number] = end = content.tell()
        if end > record_end:
            raise MalformedMetadataError("a record is cut short")
        if not is_wanted:
            continue
        values.append(_with_pairs(value, avro_type))
        read_bytes += end - start
        if read_bytes >= _BATCH_BYTES:
            batches.append(_array(values, avro_type))
            values, read_bytes = [], 0
    return pa.concat_arrays([*batches, _array(values, avro_type)]), behind


def encode_inner_values(array: pa.Array, avro_type: AvroType) -> pa.Array:
    """Encode each value that is not null. The result is a binary array, with null for each null.

    Raises:
        MalformedMetadataError: a value does not fit the type.
    """
    schema = fastavro.parse_schema(_not_null(avro_type))
    values = to_physical(array, avro_type).to_pylist()
    return pa.array(
        [None if value is None else _encoded(value, avro_type, schema) for value in values], pa.binary()
    )


def _not_null(avro_type: AvroType) -> Any:
    """Return the schema of the values without the union with null. The caller reads and writes the union's branch."""
    schema = avro_type.avro(_NAME)
    return schema[1 - avro_type.null_branch] if avro_type.is_nullable else schema


def _read(content: io.BytesIO, schema: Any) -> Any:
    try:
        return fastavro.schemaless_reader(content, schema, None)
    except Exception as error:  # fastavro raises many kinds of error for damaged bytes
        raise MalformedMetadataError(f"a value cannot be read: {error!r:.200}") from error


def _array(values: list[Any], avro_type: AvroType) -> pa.Array:
    try:
        physical = pa.array(values, avro_type.physical)
    except (pa.ArrowException, OverflowError, UnicodeError, ValueError, TypeError) as error:
        raise MalformedMetadataError(f"a value does not fit its type: {error!r:.200}") from error
    return to_logical(physical, avro_type)


def _with_pairs(value: Any, avro_type: AvroType) -> Any:
    """Replace each map inside a value by its pairs, because Arrow requires pairs."""
    if value is None or avro_type.is_flat:
        return value
    if avro_type.kind == "record":
        members = zip(avro_type.names, avro_type.members, strict=True)
        return {name: _with_pairs(value[name], member) for name, member in members}
    (member,) = avro_type.members
    if avro_type.kind == "map":
        return [(key, _with_pairs(item, member)) for key, item in value.items()]
    return [_with_pairs(item, member) for item in value]


def _with_maps(value: Any, avro_type: AvroType) -> Any:
    """Reverse `_with_pairs`."""
    if value is None or avro_type.is_flat:
        return value
    if avro_type.kind == "record":
        members = zip(avro_type.names, avro_type.members, strict=True)
        return {name: _with_maps(value[name], member) for name, member in members}
    (member,) = avro_type.members
    if avro_type.kind == "map":
        return {key: _with_maps(item, member) for key, item in value}
    return [_with_maps(item, member) for item in value]


def _encoded(value: Any, avro_type: AvroType, schema: Any) -> bytes:
    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, schema, _with_maps(value, avro_type))
    except Exception as error:  # fastavro raises many kinds of error for values of another type
        raise MalformedMetadataError(f"a value cannot be written: {error!r:.200}") from error
    return out.getvalue()
