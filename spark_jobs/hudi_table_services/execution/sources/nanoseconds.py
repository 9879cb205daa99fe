"""Read Parquet files with timestamps in nanoseconds, as pandas 2 writes them. By default, Spark refuses such files."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError
from hudi_table_services.execution.base_file_reader import column_names
from hudi_table_services.execution.sessions.connect import is_connect
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.source_files import SourceFile, first_source_files, source_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger(__name__)
_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"
_TIME_ZONE = "spark.sql.session.timeZone"
_MICROSECONDS = "({0} - pmod({0}, 1000)) div 1000"


def refuses_nanoseconds(error: Exception) -> bool:
    """Whether Spark raised the error because a Parquet file has timestamps in nanoseconds."""
    return "Illegal Parquet type" in str(error) and "NANOS" in str(error)


def nanosecond_columns(source: SourceSpec, storage_options: Mapping[str, str]) -> dict[str, bool]:
    """Return the columns of a Parquet source whose values are timestamps in nanoseconds.

    The function ignores members of structs and elements of lists. If the first file has such columns, the function
    reads the footers of all files, because Spark would read numbers in another unit as nanoseconds, without an error.

    Args:
        storage_options: settings of an object store.

    Returns:
        Maps the name of each column to True if its values are points in time, and to False if its values have no time
        zone. Empty if the first file has no such column, or if this process cannot read the first file.

    Raises:
        InvalidRequestError: files store a column in different ways; the message names two files.
        StorageError: another file cannot be read.
    """
    try:
        first = _numbers(first_source_files(source.path, storage_options)[0])
    except (HudiTableServiceError, OSError, ValueError) as error:
        _LOG.debug("The footer of the first source file was not read: %s", error)
        return {}
    if not any(map(_is_in_nanoseconds, first.values())):
        return {}
    files = list(source_files(source.path, storage_options))
    known: dict[str, tuple[pa.DataType, SourceFile]] = {}
    for file, found in zip(files, map_in_parallel(_numbers, files), strict=True):
        for name, data_type in found.items():
            other_type, other = known.setdefault(name, (data_type, file))
            if data_type != other_type and (_is_in_nanoseconds(data_type) or _is_in_nanoseconds(other_type)):
                raise InvalidRequestError(
                    f"The files of the source {source.path!r} store column {name!r} in different ways: {other_type} in "
                    f"{other.uri}, and {data_type} in {file.uri}.",
                    hint="Load the files in separate writes, or write them again with timestamps in microseconds.",
                )
    return {name: each.tz is not None for name, (each, _) in known.items() if _is_in_nanoseconds(each)}


def _is_in_nanoseconds(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(data_type)) and data_type.unit == "ns"


def _numbers(file: SourceFile) -> dict[str, pa.DataType]:
    """Return the types of those top-level columns of a Parquet file that contain integers or timestamps.

    Every time zone becomes UTC, because Parquet stores points in time without their zone.
    """
    with (
        file.storage.open_reader(file.stored.path) as stream,
        # Spark reads timestamps of 96 bits as they are. Without this setting, pyarrow describes them as nanoseconds.
        pq.ParquetFile(stream, coerce_int96_timestamp_unit="us") as opened,
    ):
        names = column_names(opened)
        fields = [field for field in opened.schema_arrow if field.name in names]
    return {
        field.name: pa.timestamp(field.type.unit, "UTC" if field.type.tz else None)
        if pa.types.is_timestamp(field.type)
        else field.type
        for field in fields
        if pa.types.is_timestamp(field.type) or pa.types.is_integer(field.type)
    }


def read_with_nanoseconds(
    spark: "SparkSession", source: SourceSpec, columns: dict[str, bool]
) -> "tuple[SparkSession, DataFrame]":
    """Read a Parquet source, and convert these columns to timestamps in microseconds, without rounding up.

    The function reads the source in a new session, because Spark has no reader option for nanoseconds, but only a
    property of the session. With Spark Connect, the function uses the given session instead, because that session
    belongs to this job alone, and the job reads only one source.

    Args:
        columns: the result of `nanosecond_columns`.

    Returns:
        The session of the rows, and the rows.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the usual name of this module

    session = spark if is_connect(spark) else spark.newSession()
    session.conf.set(_TIME_ZONE, str(spark.conf.get(_TIME_ZONE)))
    session.conf.set(_AS_LONG, "true")
    frame = session.read.format(source.format).options(**dict(source.options)).load(source.path)
    converted = {name: F.expr(_timestamp(name, is_instant)) for name, is_instant in columns.items()}
    return session, frame.withColumns(
        {name: each for name, each in converted.items() if name in frame.columns}
    )


def _timestamp(name: str, is_instant: bool) -> str:
    """Return the SQL expression that converts a column of nanoseconds to timestamps."""
    microseconds = _MICROSECONDS.format(f"`{name.replace('`', '``')}`")
    if is_instant:
        return f"timestamp_micros({microseconds})"
    seconds = f"CAST({microseconds} AS DECIMAL(24,0)) / 1000000"
    return f"TIMESTAMP_NTZ'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, {seconds})"
