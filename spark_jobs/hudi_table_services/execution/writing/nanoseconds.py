"""Read Parquet files with timestamps in nanoseconds, as pandas 2 writes them. By default, Spark refuses such files."""

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.execution.base_file_reader import column_names
from hudi_table_services.storage.source_files import SourceFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"
_TIME_ZONE = "spark.sql.session.timeZone"
_MICROSECONDS = "({0} - pmod({0}, 1000)) div 1000"


def refuses_nanoseconds(error: Exception) -> bool:
    """Whether Spark raised the error because a Parquet file has timestamps in nanoseconds."""
    return "Illegal Parquet type" in str(error) and "NANOS" in str(error)


def nanosecond_columns(file: SourceFile) -> dict[str, bool]:
    """Return the columns of a Parquet file whose values are timestamps in nanoseconds. Members of structs do not count.

    Returns:
        Maps the name of each column to whether its values are points in time. If not, they have no time zone.
    """
    with file.storage.open_reader(file.stored.path) as stream, pq.ParquetFile(stream) as opened:
        names = column_names(opened)
        fields = [field for field in opened.schema_arrow if field.name in names]
    return {
        field.name: field.type.tz is not None
        for field in fields
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns"
    }


def read_with_nanoseconds(
    spark: "SparkSession", source: SourceSpec, columns: dict[str, bool]
) -> "tuple[SparkSession, DataFrame]":
    """Read a Parquet source, and convert these columns to timestamps in microseconds, without rounding up.

    The function reads the source in a new session, because Spark has no reader option for the setting.

    Args:
        columns: the result of `nanosecond_columns`.

    Returns:
        The new session, and the rows.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the usual name of this module

    session = spark.newSession()
    session.conf.set(_TIME_ZONE, str(spark.conf.get(_TIME_ZONE)))
    session.conf.set(_AS_LONG, "true")
    frame = session.read.format(source.format).options(**dict(source.options)).load(source.path)
    converted = {name: F.expr(_timestamp(name, is_instant)) for name, is_instant in columns.items()}
    return session, frame.withColumns(converted)


def _timestamp(name: str, is_instant: bool) -> str:
    """SQL expression of a column in nanoseconds as a timestamp."""
    microseconds = _MICROSECONDS.format(f"`{name.replace('`', '``')}`")
    if is_instant:
        return f"timestamp_micros({microseconds})"
    seconds = f"CAST({microseconds} AS DECIMAL(24,0)) / 1000000"
    return f"TIMESTAMP_NTZ'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, {seconds})"
