"""Convert physical values of Avro to the Arrow types of their logical types."""

import numpy as np
import pyarrow as pa

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.execution.log_files.block_schema import AvroType
from hudi_table_services.execution.numpy_types import Bytes, Flags, Integers

_DECIMAL_BYTES = 16


def decimals(
    data: Bytes, start: Integers, stop: Integers, valid: Flags | None, arrow: pa.DataType
) -> pa.Array:
    """Return decimals from their unscaled values, which are big-endian numbers of up to 16 bytes.

    Args:
        start: position of each value that is not null.
        valid: flags of all rows; None if no row is null.

    Raises:
        MalformedMetadataError: a value has no byte, or more digits than its type.
    """
    lengths = stop - start
    if len(lengths) and (lengths.min() < 1 or lengths.max() > _DECIMAL_BYTES):
        lengths_found = f"{lengths.min()} to {lengths.max()}"
        raise MalformedMetadataError(f"decimals have {lengths_found} bytes; between 1 and 16 are valid")
    values = np.empty((len(start), _DECIMAL_BYTES), np.uint8)
    sign = np.where(data[start] >= 0x80, 0xFF, 0).astype(np.uint8)
    for number in range(_DECIMAL_BYTES):
        values[:, number] = np.where(number < lengths, data[np.maximum(stop - 1 - number, 0)], sign)
    count = len(start) if valid is None else len(valid)
    if valid is not None:
        spread = np.zeros((count, _DECIMAL_BYTES), np.uint8)
        spread[valid] = values
        values = spread
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    array = pa.Array.from_buffers(arrow, count, [bits, pa.py_buffer(values)])
    return _checked(array)


def _checked(array: pa.Array) -> pa.Array:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise MalformedMetadataError(f"a decimal has more digits than its type {array.type}") from error
    return array


def to_logical(array: pa.Array, avro_type: AvroType) -> pa.Array:
    """Convert an array of the type `AvroType.physical` to the type `AvroType.arrow`, with all inner values.

    Raises:
        MalformedMetadataError: a decimal is damaged.
    """
    if array.type == avro_type.arrow:
        return array
    if avro_type.kind == "record":
        members = list(map(to_logical, _members(array), avro_type.members))
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(members, fields=list(avro_type.arrow), mask=mask)
    if avro_type.kind == "array":
        return _with_child(array, avro_type.arrow, to_logical(array.values, avro_type.members[0]))
    if avro_type.kind == "map":
        items = to_logical(array.items, avro_type.members[0])
        fields = [avro_type.arrow.key_field, avro_type.arrow.item_field]
        pairs = pa.StructArray.from_arrays([array.keys, items], fields=fields)
        return _with_child(array, avro_type.arrow, pairs)
    if avro_type.is_decimal:
        return _decimals_of(array, avro_type.arrow)
    return array.view(avro_type.arrow)


def _members(array: pa.Array) -> list[pa.Array]:
    """Return the members of a struct, with null where the struct is null. Arrow stores arbitrary values there."""
    members: list[pa.Array] = array.flatten()
    return members


def _with_child(array: pa.Array, arrow: pa.DataType, child: pa.Array) -> pa.Array:
    """Return the list or map array with the values of `child` instead of its own values."""
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(arrow, len(array), buffers, array.null_count, array.offset, [child])


def _decimals_of(array: pa.Array, arrow: pa.DataType) -> pa.Array:
    if not len(array):
        return pa.nulls(0, arrow)
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    stored = np.frombuffer(b"" if data is None else data, np.uint8)
    if not array.null_count:
        return decimals(stored, bounds[:-1], bounds[1:], None, arrow)
    valid: Flags = np.asarray(array.is_valid())
    return decimals(stored, bounds[:-1][valid], bounds[1:][valid], valid, arrow)


def to_physical(array: pa.Array, avro_type: AvroType) -> pa.Array:
    """Reverse `to_logical`. Decimals become big-endian bytes: in a `fixed`, all its bytes; else as few as possible."""
    if array.type == avro_type.physical:
        return array
    if avro_type.kind == "record":
        members = list(map(to_physical, _members(array), avro_type.members))
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(members, fields=list(avro_type.physical), mask=mask)
    if avro_type.kind == "array":
        return _with_child(array, avro_type.physical, to_physical(array.values, avro_type.members[0]))
    if avro_type.kind == "map":
        items = to_physical(array.items, avro_type.members[0])
        fields = [avro_type.physical.key_field, avro_type.physical.item_field]
        pairs = pa.StructArray.from_arrays([array.keys, items], fields=fields)
        return _with_child(array, avro_type.physical, pairs)
    if avro_type.is_decimal:
        return decimal_bytes(array, avro_type.size)
    return array.view(avro_type.physical)


def decimal_bytes(array: pa.Array, size: int) -> pa.Array:
    """Return the unscaled values of decimals as big-endian bytes.

    Args:
        size: number of bytes of each value; 0 stands for the fewest bytes that can represent the value.
    """
    count = len(array)
    stored = np.frombuffer(array.buffers()[1] or b"", np.uint8).reshape(-1, _DECIMAL_BYTES)
    values = stored[array.offset : array.offset + count, ::-1]
    lengths = np.full(count, size) if size else _fewest_bytes(values)
    kept = np.arange(_DECIMAL_BYTES) >= _DECIMAL_BYTES - lengths[:, np.newaxis]
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    bits = array.is_valid().buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(
        pa.binary(), count, [bits, pa.py_buffer(offsets), pa.py_buffer(values[kept])]
    )


def _fewest_bytes(values: Bytes) -> Integers:
    """Return the number of bytes without the leading bytes that only repeat the sign."""
    sign = np.where(values[:, :1] >= 0x80, 0xFF, 0)
    differs = values != sign
    first = np.where(differs.any(axis=1), differs.argmax(axis=1), _DECIMAL_BYTES - 1)
    begins_with_sign = (values[np.arange(len(values)), first] >= 0x80) == (sign[:, 0] == 0xFF)
    found: Integers = _DECIMAL_BYTES - first + np.where(begins_with_sign, 0, 1)
    return found
