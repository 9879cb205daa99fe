"""Values of the records of Hudi's metadata table (HoodieMetadataPayload, Hudi 1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum
from typing import TypeAlias

from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId


class RecordType(IntEnum):
    """Kind of a record of the metadata table. The values are the codes in the records."""

    ALL_PARTITIONS = 1
    FILES = 2
    COLUMN_STATS = 3
    BLOOM_FILTER = 4
    RECORD_INDEX = 5
    PARTITION_STATS = 6
    SECONDARY_INDEX = 7


class StatKind(Enum):
    """Name of the Avro record that wraps a smallest or greatest value. The members have the order of the Avro union."""

    BOOLEAN = "BooleanWrapper"
    INT = "IntWrapper"
    LONG = "LongWrapper"
    FLOAT = "FloatWrapper"
    DOUBLE = "DoubleWrapper"
    BYTES = "BytesWrapper"
    STRING = "StringWrapper"
    DATE = "DateWrapper"
    DECIMAL = "DecimalWrapper"
    TIME_MICROS = "TimeMicrosWrapper"
    TIMESTAMP_MICROS = "TimestampMicrosWrapper"
    LOCAL_DATE = "LocalDateWrapper"
    ARRAY = "ArrayWrapper"


class ValueTypeId(IntEnum):
    """Type of a column in statistics of index version V2 (table version 9). The values are the codes in the records."""

    V1 = 0
    NULL = 1
    BOOLEAN = 2
    INT = 3
    LONG = 4
    FLOAT = 5
    DOUBLE = 6
    STRING = 7
    BYTES = 8
    FIXED = 9
    DECIMAL = 10
    UUID = 11
    DATE = 12
    TIME_MILLIS = 13
    TIME_MICROS = 14
    TIMESTAMP_MILLIS = 15
    TIMESTAMP_MICROS = 16
    TIMESTAMP_NANOS = 17
    LOCAL_TIMESTAMP_MILLIS = 18
    LOCAL_TIMESTAMP_MICROS = 19
    LOCAL_TIMESTAMP_NANOS = 20


@dataclass(frozen=True, slots=True)
class StatValue:
    """A smallest or greatest value of a column.

    Attributes:
        value: the value as Avro stores it: a date as the number of days since 1970, a time or timestamp as a number of
            the units of its type, a decimal as the bytes of its unscaled value, and an array as a tuple whose items may
            be None.
    """

    kind: StatKind
    value: "bool | int | float | str | bytes | tuple[StatValue | None, ...]"


@dataclass(frozen=True, slots=True)
class ValueType:
    """Type of a column, as the statistics of the column store it.

    Attributes:
        type_id: number of the type; see `ValueTypeId` for the numbers of Hudi 1.2.
        additional_info: precision and scale of a decimal, such as ``20,2``.
    """

    type_id: int
    additional_info: str | None = None


@dataclass(frozen=True, slots=True)
class ListedFile:
    """An entry of a list of files or partitions; partitions have size 0."""

    size_bytes: int
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Files of a partition, or all partitions of a table.

    Attributes:
        files: maps the name of each file, or the path of each partition, to its entry. The path of the root of a table
            without partitions is ``.``.
    """

    files: Mapping[str, ListedFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStats:
    """Statistics of a column in a file or in a partition.

    Attributes:
        file_name: name of the file, or the partition path in statistics of a partition.
        min_value, max_value: smallest and greatest value; None if the column has only nulls.
        is_tight_bound: whether the values were computed from all files of the partition, so that this record replaces
            the earlier record of the partition; always False for a file.
        value_type: type of the column; None in tables before version 9.
    """

    file_name: str | None
    column_name: str | None
    min_value: StatValue | None
    max_value: StatValue | None
    value_count: int | None
    null_count: int | None
    total_size_bytes: int | None
    total_uncompressed_bytes: int | None
    is_deleted: bool = False
    is_tight_bound: bool = False
    value_type: ValueType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBloomFilter:
    """Bloom filter of a base file.

    Attributes:
        type_code: `SIMPLE` or `DYNAMIC_V0`.
        timestamp: instant time of the file.
        bloom_filter: the base64 text in the footer of the file, as bytes.
    """

    type_code: str
    timestamp: str
    bloom_filter: bytes
    is_deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileBloom:
    """The bloom filter in the footer of a new base file.

    Attributes:
        text: the base64 text in the footer.
        type_code: `SIMPLE` or `DYNAMIC_V0`.
    """

    partition_path: str
    base_file: BaseFile
    text: str
    type_code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLocation:
    """The location of a row of the table, according to the record index.

    Attributes:
        file_id: id of the file group that contains the row.
        instant_millis: time of the commit that added the record, in milliseconds since 1970.
        is_plain_text: whether the record index stores the file id as a string. If not, the index stores the file id
            as three numbers.
        position: number of the row in the file, if known.
    """

    partition_path: str
    file_id: str
    instant_millis: int
    is_plain_text: bool = False
    position: int | None = None


@dataclass(frozen=True, slots=True)
class SecondaryIndexEntry:
    """The value of an entry of a secondary index. The key contains the column's value and the record key."""

    is_deleted: bool = False


Payload: TypeAlias = Listing | ColumnStats | FileBloomFilter | RecordLocation | SecondaryIndexEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRecord:
    """One record of the metadata table.

    Attributes:
        key: key of the record, made by `hudi_format.metadata_table.keys`.
        base_file_name: name of the base file of the metadata table that contains the record; None in log files.
    """

    key: str
    record_type: RecordType
    payload: Payload
    base_file_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDefinition:
    """Definition of an index of the table. One partition of the metadata table contains the index.

    Attributes:
        name: name of the partition of the metadata table.
        index_type: e.g. `column_stats` or `secondary_index`.
        function: e.g. `column_stats` or `identity`; empty for a record index.
        source_fields: the indexed columns; for column statistics, in the order in which Hudi chose them.
        version: `V1` or `V2`; None means V1. Hudi writes None in tables of version 8.
    """

    name: str
    index_type: str
    function: str
    source_fields: tuple[str, ...]
    options: Mapping[str, str]
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondaryIndex:
    """A secondary index, which maps a value of a column to the record keys of the rows with this value.

    Attributes:
        name: partition of the metadata table that contains the index, ``secondary_index_<name>``.
        column: the indexed column; a dotted path for a member of a struct.
        is_grouped_by_value: whether the value alone determines the file group of an entry (index version V2, table
            version 9). In version V1, the whole key of the entry determines the file group.
    """

    name: str
    column: str
    is_grouped_by_value: bool


@dataclass(frozen=True, slots=True)
class DeletedKey:
    """The key of a record that a commit deletes from the metadata table."""

    key: str


MetadataChange: TypeAlias = MetadataRecord | DeletedKey
"""One change of a partition of the metadata table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """Changes of one file group of the metadata table in one commit.

    Attributes:
        file_group_id: the partition of the metadata table, and the id of the file group.
        records: new records, in ascending order of the UTF-8 bytes of their keys. Each key occurs once.
        deleted_keys: keys to delete, in ascending order of their UTF-8 bytes. A key that has both a new record and a
            deletion is deleted.
    """

    file_group_id: FileGroupId
    records: tuple[MetadataRecord, ...] = ()
    deleted_keys: tuple[str, ...] = ()


RangeValue: TypeAlias = bool | int | float | str | bytes | Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumnRange:
    """Statistics of a column in a data file.

    Attributes:
        column: name of the column; a dotted path for a member of a struct.
        min_value, max_value: smallest and greatest value, without NaN; None if the column has no values other than
            nulls and NaN, or if the smallest and greatest value are not known. A date is a number of days since 1970,
            and a timestamp is a number of microseconds since 1970.
        value_count: number of rows, including rows with null.
        null_count: None if the number is not known.
        total_size_bytes: size on storage.
        total_uncompressed_bytes: size after encoding and before compression.
        has_nan: whether a value is NaN; None if that is not known.
    """

    column: str
    min_value: RangeValue | None
    max_value: RangeValue | None
    value_count: int
    null_count: int | None
    total_size_bytes: int
    total_uncompressed_bytes: int
    has_nan: bool | None = False

    @property
    def has_only_nulls(self) -> bool:
        return self.null_count == self.value_count


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatistics:
    """Statistics of the columns of one data file. A column that the file does not have is absent.

    Attributes:
        file_name: name of the file, without its folder.
        row_count: number of rows of the file.
    """

    partition_path: str
    file_name: str
    row_count: int
    ranges: tuple[FileColumnRange, ...]

    def range_of(self, column: str) -> FileColumnRange | None:
        return next((found for found in self.ranges if found.column == column), None)
