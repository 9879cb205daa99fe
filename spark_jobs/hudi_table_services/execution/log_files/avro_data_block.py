"""Decode the rows of AVRO_DATA blocks to Arrow tables: whole blocks, or chosen rows and columns."""

import struct
from collections.abc import Collection

import numpy as np
import pyarrow as pa

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.execution.log_files.block_columns import conform_block
from hudi_table_services.execution.log_files.block_schema import parse_block_schema
from hudi_table_services.execution.log_files.column_decoder import decode_columns
from hudi_table_services.execution.numpy_types import Integers

_HEADER = struct.Struct(">ii")
_LENGTH = struct.Struct(">i")
_VERSIONS = (2, 3)


class AvroDataBlock:
    """A block, from which rows and columns can be decoded.

    Args:
        content: content of the block.
        schema: Avro schema in the header of the block.
        what: name of the block, for error messages.

    Raises:
        MalformedMetadataError: the schema or the lengths of the records are damaged, or the content has an unknown
            version.
        UnsupportedTableError: a column has a type that this release does not read.
    """

    def __init__(self, content: bytes, schema: str, what: str) -> None:
        self._content = content
        self._what = what
        try:
            self._schema = parse_block_schema(schema)
        except (MalformedMetadataError, UnsupportedTableError) as error:
            raise type(error)(f"{what}: {error.message}", hint=error.hint) from error
        self._starts, self._ends = _records(content, what)

    @property
    def row_count(self) -> int:
        return len(self._starts)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._schema.names

    def read(
        self, wanted: pa.Schema, rows: Integers | None = None, extra_columns: Collection[str] = ()
    ) -> pa.Table:
        """Return rows with the wanted columns, in the order of `wanted`.

        Args:
            wanted: columns of the result. A column that the block does not have is null.
            rows: numbers of rows, in any order; None for all rows in their order.
            extra_columns: names of further columns to return after the wanted columns, with the types of the block.

        Raises:
            MalformedMetadataError: a record is damaged.
            InvalidDataError: a value does not fit the type of a wanted column, or a missing column is not nullable.
            InvalidRequestError: the type of a column of the block cannot be converted to its type in `wanted`.
        """
        extra = [field for field in self._schema.arrow if field.name in extra_columns]
        target = pa.schema([*wanted, *(field for field in extra if field.name not in wanted.names)])
        if rows is None:
            found = self._decode(frozenset(target.names), self._starts, self._ends)
            return conform_block(found, target, self._what)
        ascending, order = np.unique(rows, return_inverse=True)
        found = self._decode(frozenset(target.names), self._starts[ascending], self._ends[ascending])
        in_order = found if np.array_equal(rows, ascending) else found.take(pa.array(order))
        return conform_block(in_order, target, self._what)

    def _decode(self, names: frozenset[str], starts: Integers, ends: Integers) -> pa.Table:
        try:
            arrays = decode_columns(self._content, starts, ends, self._schema, names)
        except MalformedMetadataError as error:
            raise MalformedMetadataError(f"{self._what}: {error.message}") from error
        if not arrays:
            # A table without columns has no number of rows, so add a column of nulls, which `conform_block` leaves out.
            arrays = {"": pa.nulls(len(starts))}
        return pa.table(arrays)


def _records(content: bytes, what: str) -> tuple[Integers, Integers]:
    """Return the start and end positions of all records."""
    try:
        version, count = _HEADER.unpack_from(content)
    except struct.error:
        raise MalformedMetadataError(
            f"{what}: the content has {len(content)} bytes, too few for its header."
        ) from None
    if version not in _VERSIONS:
        raise MalformedMetadataError(
            f"{what}: the content of an AVRO_DATA block has the version {version}; this release reads 2 and 3."
        )
    starts: list[int] = []
    position, end = _HEADER.size, len(content)
    read = _LENGTH.unpack_from
    while position + _LENGTH.size <= end and len(starts) < count:
        length = read(content, position)[0]
        position += _LENGTH.size
        starts.append(position)
        position += length
        if length < 0 or position > end:
            break
    if len(starts) != count or position != end:
        raise MalformedMetadataError(
            f"{what}: the lengths of its {count} records do not fit its {end} bytes."
        )
    found = np.array(starts, np.int64)
    return found, np.append(found[1:] - _LENGTH.size, end) if count else found
