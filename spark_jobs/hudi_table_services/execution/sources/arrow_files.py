"""Read Parquet files of a source with Arrow on the executors, so that no row passes through the JVM (docs/adr/0060).

Spark lists the files, determines the schema, and runs and repeats the tasks. A task reads its parts of the files
itself, if Arrow certainly returns the rows that Spark would return. Otherwise the task raises `UnlikeSparkError`, and
the job reads the source with Spark.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.contract.writing import SourceSpec, is_local, is_same_store
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.execution.base_file_reader import column_names, rows_per_batch
from hudi_table_services.execution.sessions.connect import is_connect
from hudi_table_services.execution.sources.file_parts import FilePart, row_groups_of
from hudi_table_services.execution.spark_tasks import translated_errors
from hudi_table_services.storage.source_files import SourceFile, source_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SETTINGS = (
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.fieldId.read.enabled",
)
"""Settings of Spark with which Spark reads other rows than Arrow does."""

_LEGACY_KEYS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_SPARK_VERSION = b"org.apache.spark.version"
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_NAMES: Mapping[str, tuple[str, ...]] = {
    "boolean": ("bool",),
    "byte": ("int8",),
    "short": ("int16",),
    "integer": ("int32",),
    "long": ("int64",),
    "float": ("float",),
    "double": ("double",),
    "string": ("string", "large_string"),
    "binary": ("binary", "large_binary"),
    "date": ("date32[day]",),
}
"""Maps the name of a type in Spark to the names of those Arrow types with which Arrow reads the same values."""


class UnlikeSparkError(Exception):
    """Arrow may read other rows from a file than Spark. The message is the reason, without a final period."""


@dataclass(frozen=True, slots=True)
class ArrowFiles:
    """Parquet files that the executors may read with Arrow.

    Attributes:
        files: the files, sorted as Spark sorts them.
        types: maps the name of each column to its type in the form of Spark's ``jsonValue``.
    """

    files: tuple[SourceFile, ...]
    types: Mapping[str, Any]

    @property
    def sizes(self) -> list[int]:
        return [file.stored.size_bytes for file in self.files]

    def check_first(self) -> None:
        """Check the footer of the first file. Raises the errors of `batches`."""
        for file in self.files[:1]:
            with _opened(file) as opened:
                self._check(opened, file.uri)

    def batches(self, parts: Sequence[FilePart], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some parts, with those of the named columns that the file has.

        Raises:
            UnlikeSparkError: a file differs from the schema, or cannot be decoded; some rows may have been returned.
            StorageError: a file cannot be read.
        """
        for part in parts:
            source = self.files[part.file]
            with _opened(source) as file:
                self._check(file, source.uri)
                yield from self._rows(file, part, columns)

    @staticmethod
    def _rows(file: pq.ParquetFile, part: FilePart, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        present = column_names(file)
        yield from file.iter_batches(
            rows_per_batch(file),
            row_groups=row_groups_of(file.metadata, part),
            columns=[name for name in columns if name in present],
            use_threads=False,
        )

    def _check(self, file: pq.ParquetFile, uri: str) -> None:
        """Refuse a file if Spark may read other values from the file than Arrow."""
        if reason := self._difference(file):
            raise UnlikeSparkError(f"{reason} ({uri})")

    def _difference(self, file: pq.ParquetFile) -> str:
        """Return why Spark may read other values from a file than Arrow; empty if there is no reason."""
        if _may_have_julian_dates(file.metadata.metadata or {}):
            return "the file may contain dates that Spark wrote in the Julian calendar"
        schema = file.schema_arrow
        by_lower_case = {name.lower(): name for name in self.types}
        for field in schema:
            wanted = self.types.get(field.name)
            if wanted is None:
                if field.name.lower() in by_lower_case:
                    return f"the column {field.name!r} differs only in case from another name"
            elif not reads_alike(field.type, wanted):
                return f"the column {field.name!r} has the type {field.type}, not {wanted}"
        return "" if len(set(schema.names)) == len(schema.names) else "two columns have the same name"


@contextmanager
def _opened(file: SourceFile) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file. Arrow's errors inside of the block become UnlikeSparkError."""
    with file.storage.open_reader(file.stored.path) as stream:
        try:
            yield pq.ParquetFile(stream)
        except (pa.ArrowException, OSError) as error:
            raise UnlikeSparkError(f"Arrow cannot read {file.uri}: {error}") from error


def arrow_files(
    frame: "DataFrame", source: SourceSpec, base_path: str, storage_options: Mapping[str, str]
) -> ArrowFiles:
    """Return the files of a source for tasks that read the files with Arrow.

    Args:
        frame: the rows of the source, as Spark reads them.
        base_path: base path of the table. The source must be in the same store, because the workers have the
            permissions for this store.
        storage_options: settings of an object store.

    Raises:
        UnlikeSparkError: Spark must read the source, for the reason in the message.
        ExecutionFailedError: Spark failed, or its JVM has ended.
    """
    _check_request(source, base_path)
    spark = frame.sparkSession
    if is_connect(spark) and is_local(source.path):
        raise UnlikeSparkError("this process possibly has no access to the local files of the server")
    with translated_errors(spark, "Listing the files of the source"):
        given = [name for name in _SETTINGS if str(spark.conf.get(name, "false")).lower() == "true"]
        types = {field["name"]: field["type"] for field in frame.schema.jsonValue()["fields"]}
        listed = frame.inputFiles()
    if given:
        raise UnlikeSparkError(f"the session has the setting {given[0]}")
    if odd := [name for name in types if "." in name]:
        raise UnlikeSparkError(f"the name {odd[0]!r} of a column contains a period")
    try:
        files = ArrowFiles(tuple(source_files(source.path, storage_options)), types)
        if any(file.partition_columns for file in files.files):
            raise UnlikeSparkError("names of folders contain values of columns")
        if not _are_same(files.files, listed):
            raise UnlikeSparkError("Spark lists other files")
        files.check_first()
    except HudiTableServiceError as error:
        raise UnlikeSparkError(f"{error.message.rstrip('.')} (in this process)") from error
    return files


def _check_request(source: SourceSpec, base_path: str) -> None:
    if source.format.lower() != "parquet" or not source.path:
        raise UnlikeSparkError(f"its format is {source.format}")
    if source.sql is not None:
        raise UnlikeSparkError("the request has a query on the source")
    if source.options:
        raise UnlikeSparkError("the request has options of the reader")
    if not is_same_store(source.path, base_path):
        raise UnlikeSparkError("the source and the table are in different stores")


def _are_same(files: Sequence[SourceFile], listed: Sequence[str]) -> bool:
    """Whether Spark lists the same files. Without a scheme, Spark and this process can mean different stores."""
    ours = sorted((is_local(file.uri), file.stored.name) for file in files)
    return ours == sorted((uri.startswith("file:"), unquote(uri.rpartition("/")[2])) for uri in listed)


def reads_alike(found: pa.DataType, wanted: Any) -> bool:
    """Whether Arrow and Spark read the same values from a Parquet column.

    Args:
        found: type of the column in Arrow.
        wanted: type of the column in Spark, in the form of Spark's ``jsonValue``.
    """
    if pa.types.is_dictionary(found):
        return reads_alike(found.value_type, wanted)
    if isinstance(wanted, str):
        return _is_same_value(found, wanted)
    match wanted["type"]:
        case "struct" if pa.types.is_struct(found):
            members = wanted["fields"]
            return [field.name for field in found] == [member["name"] for member in members] and all(
                reads_alike(field.type, member["type"]) for field, member in zip(found, members, strict=True)
            )
        case "array" if pa.types.is_list(found):
            return reads_alike(found.value_type, wanted["elementType"])
        case "map" if pa.types.is_map(found):
            return reads_alike(found.key_type, wanted["keyType"]) and reads_alike(
                found.item_type, wanted["valueType"]
            )
    return False


def _is_same_value(found: pa.DataType, wanted: str) -> bool:
    if decimal := _DECIMAL.fullmatch(wanted):
        return bool(found == pa.decimal128(int(decimal[1]), int(decimal[2])))
    if wanted in ("timestamp", "timestamp_ntz"):
        is_known = pa.types.is_timestamp(found) and found.unit in ("ms", "us")
        return is_known and (found.tz is not None) == (wanted == "timestamp")
    return str(found) in _NAMES.get(wanted, ())


def _may_have_julian_dates(metadata: Mapping[bytes, bytes]) -> bool:
    """Whether Spark 1 or 2, or a later release in the mode of Spark 2, wrote a file.

    When Spark reads such a file, it converts old dates from the Julian calendar.
    """
    version = metadata.get(_SPARK_VERSION, b"")
    return version.startswith((b"1.", b"2.")) or any(key in metadata for key in _LEGACY_KEYS)
