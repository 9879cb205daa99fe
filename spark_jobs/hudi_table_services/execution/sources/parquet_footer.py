"""Read the columns of a Parquet file from its footer: their names, their types in Spark, and their numbers of nulls."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import (
    META_COLUMNS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
)
from hudi_table_services.storage.source_files import SourceFile

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_PRIMITIVES: dict[str, str] = {
    "bool": "boolean",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "uint8": "int",
    "uint16": "int",
    "uint32": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "binary": "bytes",
    "large_binary": "bytes",
    "date32[day]": "date",
}
_UINT64 = DecimalType(20, 0)
_SPREADSHEETS = (".xls", ".xlsx", ".xlsm", ".ods")
"""Ends of the names of spreadsheets, in lower case."""


@dataclass(frozen=True, slots=True)
class ParquetFooter:
    """Facts from the footer of one source file.

    Attributes:
        uri: address of the file, for messages.
        names: names of all columns except Hudi's meta columns.
        types: those columns whose types in Spark are known, with their types.
        times: names of the columns that contain timestamps.
        metadata: the footer itself.
        range_index: name of the index of a pandas DataFrame that the file does not contain as a column; else empty.
        untyped_nulls: columns that contain only nulls and have no type (logical type NULL). Spark reads them as int.
    """

    uri: str
    names: tuple[str, ...]
    types: StructType
    times: tuple[str, ...]
    metadata: "pq.FileMetaData" = field(repr=False, compare=False)
    range_index: str = field(default="", compare=False)
    untyped_nulls: tuple[str, ...] = field(default=(), compare=False)

    @property
    def row_count(self) -> int:
        """Number of rows of the file."""
        return int(self.metadata.num_rows)

    def null_counts(self, paths: Iterable[str]) -> dict[str, int]:
        """Return how many rows of the file have no value in a column, or in a struct member at a dotted path.

        The result leaves out paths that the file lacks, paths inside lists and maps, and paths about which a row group
        has no statistics.
        """
        schema = self.metadata.schema
        columns = {schema.column(index).path: index for index in range(len(schema))}
        counts = {}
        for path in paths:
            index = columns.get(path)
            if index is None or schema.column(index).max_repetition_level > 0:
                continue
            if (count := self._null_count(index)) is not None:
                counts[path] = count
        return counts

    def _null_count(self, column: int) -> int | None:
        total = 0
        for number in range(self.metadata.num_row_groups):
            statistics = self.metadata.row_group(number).column(column).statistics
            if statistics is None or not statistics.has_null_count:
                return None
            total += statistics.null_count
        return total


def read_parquet_footer(file: SourceFile) -> ParquetFooter:
    """Read the footer of a source file. This needs pyarrow, which Airflow workers without the extra `engine` lack.

    Raises:
        InvalidRequestError: the file is not a Parquet file.
        StorageError: the file cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with file.storage.open_reader(file.stored.path) as stream, pq.ParquetFile(stream) as opened:
            schema, metadata = opened.schema_arrow, opened.metadata
    except pa.ArrowInvalid as error:
        raise InvalidRequestError(
            f"The source file {file.uri} is not a Parquet file: {str(error).rstrip('.')}.",
            hint="Convert the spreadsheet to CSV or Parquet."
            if file.uri.lower().endswith(_SPREADSHEETS)
            else "Set --source-format to the format of the file, such as csv or json.",
        ) from error
    int96 = {
        column.path
        for column in map(metadata.schema.column, range(len(metadata.schema)))
        if column.physical_type == "INT96"
    }
    kept = [column for column in schema if column.name not in META_COLUMNS]
    found = [(each.name, TIMESTAMP if each.name in int96 else _column_type(each.type)) for each in kept]
    # Spark treats every column of a file as nullable.
    typed = tuple(Field(name, data_type, nullable=True) for name, data_type in found if data_type is not None)
    return ParquetFooter(
        uri=file.uri,
        names=tuple(column.name for column in kept),
        types=StructType(typed),
        times=tuple(column.name for column in kept if pa.types.is_timestamp(column.type)),
        metadata=metadata,
        range_index=_range_index(schema),
        untyped_nulls=tuple(column.name for column in kept if pa.types.is_null(column.type)),
    )


def _range_index(schema: "pa.Schema") -> str:
    """Return the name of a RangeIndex, of which pandas stores only the bounds; empty if there is no name."""
    try:
        described = (schema.pandas_metadata or {}).get("index_columns", ())
    except ValueError:  # the metadata is not JSON
        return ""
    indexes = [each for each in described if isinstance(each, dict)]
    return next((str(each["name"]) for each in indexes if each.get("name")), "")


def _column_type(found: "pa.DataType") -> DataType | None:
    """Return the type of a top-level column; None if it is not known.

    The job converts a column of nanoseconds to microseconds (see `nanoseconds`), but not a struct member or list
    element of nanoseconds.
    """
    import pyarrow as pa

    if pa.types.is_timestamp(found):
        return TIMESTAMP if found.tz else TIMESTAMP_NTZ
    return _spark_type(found)


def _spark_type(found: "pa.DataType") -> DataType | None:
    """Return the type of a Parquet column in Spark, as `schema_from_spark_json` names it; None if it is not known."""
    import pyarrow as pa

    if (name := _PRIMITIVES.get(str(found))) is not None:
        return PrimitiveType(name)
    if pa.types.is_dictionary(found):
        return _spark_type(found.value_type)
    if pa.types.is_uint64(found):
        return _UINT64
    if pa.types.is_decimal128(found):
        return DecimalType(found.precision, found.scale)
    if pa.types.is_timestamp(found) and found.unit in ("ms", "us"):
        return TIMESTAMP if found.tz else TIMESTAMP_NTZ
    if pa.types.is_list(found) or pa.types.is_large_list(found):
        element = _spark_type(found.value_type)
        return None if element is None else ArrayType(element, contains_null=True)
    if pa.types.is_map(found) and _spark_type(found.key_type) == STRING:
        value = _spark_type(found.item_type)
        return None if value is None else MapType(value, value_contains_null=True)
    if pa.types.is_struct(found):
        members = tuple((member.name, _spark_type(member.type)) for member in found)
        if any(member is None for _, member in members):
            return None
        return StructType(
            tuple(Field(name, kind, nullable=True) for name, kind in members if kind is not None)
        )
    return None
