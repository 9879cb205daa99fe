"""Footers of Parquet files: where the pages of a row group are, and footers of files that contain copied row groups.

Format: parquet.thrift of parquet-format 2.11. Numbers of fields are those of its structures `FileMetaData`, `RowGroup`,
`ColumnChunk` and `ColumnMetaData`.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.parquet.thrift_compact import (
    I64,
    Field,
    List,
    Struct,
    decode_struct,
    encode_struct,
)

MAGIC = b"PAR1"
_LENGTH = struct.Struct("<i")
TAIL_BYTES = _LENGTH.size + len(MAGIC)
"""Bytes at the end of a file, after the footer: the length of the footer, and `MAGIC`."""

_SCHEMA, _NUM_ROWS, _ROW_GROUPS = 2, 3, 4
_COLUMNS, _TOTAL_BYTES, _GROUP_ROWS, _GROUP_OFFSET, _COMPRESSED_BYTES, _ORDINAL = 1, 2, 3, 5, 6, 7
_CHUNK_OFFSET, _META_DATA = 2, 3
_PAGE_INDEX = (4, 5, 6, 7)
_PATH, _CODEC, _VALUES, _UNCOMPRESSED, _COMPRESSED = 3, 4, 5, 6, 7
_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE = 9, 10, 11
_PAGE_OFFSETS = (_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE)

# Other fields could be positions in the file, which must change when pages move. Fields 1, 8 and 9 of a `ColumnChunk`
# belong to pages in other files and to encryption, and fields 14 and 15 of a `ColumnMetaData` to bloom filters.
_GROUP_FIELDS = frozenset(range(1, 8))
_CHUNK_FIELDS = frozenset(range(2, 8))
_META_DATA_FIELDS = frozenset({*range(1, 14), 16, 17})


def footer_length(tail: bytes) -> int:
    """Return the length of the footer from the last `TAIL_BYTES` of a file.

    Raises:
        MalformedMetadataError: the file does not end like a Parquet file without encryption.
    """
    if len(tail) != TAIL_BYTES or not tail.endswith(MAGIC):
        raise MalformedMetadataError("Parquet footer: the file does not end with PAR1.")
    length: int = _LENGTH.unpack(tail[: _LENGTH.size])[0]
    if length <= 0:
        raise MalformedMetadataError(f"Parquet footer: the length is {length}.")
    return length


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """The bytes of a column chunk in its file."""

    start: int
    length: int

    @property
    def end(self) -> int:
        return self.start + self.length


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """The description of one column of a row group. `fields` is a Thrift structure `ColumnChunk`."""

    fields: Struct

    @property
    def _meta_data(self) -> Struct:
        found: Struct = self.fields[_META_DATA].value
        return found

    @property
    def path(self) -> tuple[bytes, ...]:
        """Names of the column and of its parents."""
        return tuple(self._meta_data[_PATH].value.values)

    @property
    def codec(self) -> int:
        """Number of the compression codec."""
        return int(self._meta_data[_CODEC].value)

    @property
    def value_count(self) -> int:
        """Number of values, including nulls."""
        return int(self._meta_data[_VALUES].value)

    @property
    def can_move(self) -> bool:
        """Whether this module knows all fields. Pages with encryption or with a bloom filter cannot move."""
        if _META_DATA not in self.fields or not self.fields.keys() <= _CHUNK_FIELDS:
            return False
        return self._meta_data.keys() <= _META_DATA_FIELDS

    @property
    def place(self) -> ChunkPlace:
        """The bytes of all pages, with the dictionary."""
        offsets = [self._meta_data[each].value for each in _PAGE_OFFSETS if each in self._meta_data]
        # A few writers store 0 for a chunk without dictionary.
        return ChunkPlace(min(each for each in offsets if each > 0), int(self._meta_data[_COMPRESSED].value))

    @property
    def uncompressed_bytes(self) -> int:
        return int(self._meta_data[_UNCOMPRESSED].value)

    def at(self, start: int) -> "ColumnChunk":
        """Return the description of the same pages at another position. The description has no page index."""
        shift = start - self.place.start
        fields = {key: each for key, each in self.fields.items() if key not in _PAGE_INDEX}
        fields[_META_DATA] = Field(
            fields[_META_DATA].type_code, _moved(self._meta_data, _PAGE_OFFSETS, shift)
        )
        return ColumnChunk(_moved(fields, (_CHUNK_OFFSET,), shift))


def _moved(fields: Struct, offsets: Sequence[int], shift: int) -> Struct:
    """Return the fields, with `shift` added to the offsets that are not 0."""
    return {
        key: Field(each.type_code, each.value + shift) if key in offsets and each.value > 0 else each
        for key, each in fields.items()
    }


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The description of a row group. `fields` is a Thrift structure `RowGroup`."""

    fields: Struct

    @property
    def row_count(self) -> int:
        return int(self.fields[_GROUP_ROWS].value)

    @property
    def columns(self) -> tuple[ColumnChunk, ...]:
        return tuple(map(ColumnChunk, self.fields[_COLUMNS].value.values))

    @property
    def can_move(self) -> bool:
        """Whether this module knows all fields of the row group and of its columns."""
        return self.fields.keys() <= _GROUP_FIELDS and all(each.can_move for each in self.columns)

    def with_columns(self, columns: Sequence[ColumnChunk]) -> "RowGroup":
        """Return the description with other chunks for the same rows, and with the offset and sizes of these chunks."""
        places = [each.place for each in columns]
        column_type = self.fields[_COLUMNS]
        return RowGroup(
            {
                **self.fields,
                _COLUMNS: Field(
                    column_type.type_code,
                    List(column_type.value.type_code, [each.fields for each in columns]),
                ),
                _TOTAL_BYTES: Field(I64, sum(each.uncompressed_bytes for each in columns)),
                _GROUP_OFFSET: Field(I64, min(each.start for each in places)),
                _COMPRESSED_BYTES: Field(I64, sum(each.length for each in places)),
            }
        )

    def moved(self, shift: int) -> "RowGroup":
        """Return the description of the same row group after all its bytes moved."""
        return self.with_columns([each.at(each.place.start + shift) for each in self.columns])

    @property
    def without_ordinal(self) -> Struct:
        """The structure without the number of the row group in its file."""
        return {key: each for key, each in self.fields.items() if key != _ORDINAL}


@dataclass(frozen=True, slots=True)
class ParquetFooter:
    """A footer. `fields` is a Thrift structure `FileMetaData`."""

    fields: Struct

    @classmethod
    def decode(cls, data: bytes) -> "ParquetFooter":
        """Decode the bytes of a footer, without the length after it.

        Raises:
            MalformedMetadataError: the bytes are not a footer.
        """
        footer = cls(decode_struct(data))
        if not footer.fields.keys() >= {_SCHEMA, _NUM_ROWS, _ROW_GROUPS}:
            raise MalformedMetadataError("Parquet footer: the schema or the row groups are missing.")
        return footer

    @property
    def schema(self) -> List:
        """The schema, which can be compared with the schema of another footer."""
        found: List = self.fields[_SCHEMA].value
        return found

    @property
    def row_count(self) -> int:
        return int(self.fields[_NUM_ROWS].value)

    @property
    def row_groups(self) -> tuple[RowGroup, ...]:
        return tuple(map(RowGroup, self.fields[_ROW_GROUPS].value.values))

    def with_row_groups(self, row_groups: Sequence[RowGroup]) -> "ParquetFooter":
        """Return a footer with other row groups, and with their number of rows.

        The row groups have no ordinals: only encryption needs ordinals, and readers in Rust refuse a file in which only
        some row groups have one.
        """
        without_ordinals = [each.without_ordinal for each in row_groups]
        groups = self.fields[_ROW_GROUPS]
        return ParquetFooter(
            {
                **self.fields,
                _NUM_ROWS: Field(I64, sum(each.row_count for each in row_groups)),
                _ROW_GROUPS: Field(groups.type_code, List(groups.value.type_code, without_ordinals)),
            }
        )

    def end_of_file(self) -> bytes:
        """Return the footer as the end of a file: the structure, its length, and `MAGIC`."""
        data = encode_struct(self.fields)
        return data + _LENGTH.pack(len(data)) + MAGIC
