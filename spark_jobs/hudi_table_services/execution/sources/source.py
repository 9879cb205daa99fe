"""Read the source of a request as a Spark frame."""

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import ExecutionFailedError, HudiTableServiceError, InvalidRequestError
from hudi_table_services.execution.sources.malformed_lines import refuse_corrupt_documents, strict_options
from hudi_table_services.execution.sources.nanoseconds import (
    nanosecond_columns,
    read_with_nanoseconds,
    refuses_nanoseconds,
)
from hudi_table_services.model.schema import TIMESTAMP, ArrayType, DataType, MapType, StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger(__name__)

SOURCE_VIEW = "source"
_STEP = "Reading the columns of the source"
"""A terminal shows this line next to the progress bar until the next step begins."""
_MISSING_FILE_SYSTEM = re.compile(r"No FileSystem for scheme|Class org\.apache\.hadoop\.fs\.\S+ not found")
_LINE_NUMBER = re.compile(r"\bline (\d+)")


def read_source(spark: "SparkSession", source: SourceSpec, storage_options: Mapping[str, str]) -> "DataFrame":
    """Return a frame of the rows to write. Spark evaluates the frame when the rows are staged.

    Args:
        storage_options: settings of an object store, with which this process reads footers of Parquet files.

    Raises:
        InvalidRequestError: the source is missing, does not have the format that the request names, or does not fit the
            query.
        InvalidDataError: a line of a JSON file is not a JSON document.
        ExecutionFailedError: storage or Spark failed.
    """
    where = source.path or source.format
    is_loaded = False
    try:
        spark, frame = _load(spark, source, storage_options)
        is_loaded = True
        if source.sql is None:
            return frame
        frame.createOrReplaceTempView(SOURCE_VIEW)
        # Inside brackets Spark's grammar accepts only a query, so Spark refuses statements that change data.
        return spark.sql(f"(\n{source.sql.strip().rstrip(';')}\n)")
    except Exception as error:
        if refuses_nanoseconds(error):
            raise InvalidRequestError(
                f"The source {where!r} has timestamps in nanoseconds, which Spark does not read.",
                hint="Write the files with timestamps in microseconds, in pandas with "
                'to_parquet(path, coerce_timestamps="us", allow_truncated_timestamps=True).',
            ) from error
        if isinstance(error, HudiTableServiceError):
            raise
        if _MISSING_FILE_SYSTEM.search(first_line(error)):
            raise _missing_file_system(where, error) from error
        if is_loaded and is_user_error(error):
            raise invalid_query(error) from error
        if not is_user_error(error):
            raise ExecutionFailedError(
                f"Reading the source {where!r} (format {source.format}) failed: {first_line(error).rstrip('.')}.",
                hint="Nothing was written; run the request again.",
            ) from error
        raise InvalidRequestError(
            f"The source {where!r} (format {source.format}) cannot be read: {first_line(error).rstrip('.')}.",
            hint="Check path, format and reader options.",
        ) from error


def invalid_query(error: Exception) -> InvalidRequestError:
    """Return the error about a source query that Spark refuses."""
    return InvalidRequestError(
        f"The source query (--source-sql) cannot be run: {_in_users_lines(first_line(error)).rstrip('.;')}.",
        hint="Correct the SQL. It must be a single query on the view `source`.",
    )


def _missing_file_system(where: str, error: Exception) -> InvalidRequestError:
    """Return the error about a source whose file system Spark does not have, such as S3 without hadoop-aws."""
    hint = "Add the package of the file system to Spark, with --conf spark.jars.packages=…"
    if where.startswith(("s3://", "s3a://", "s3n://")):
        path = f"s3a://{where.partition('://')[2]}"
        package = f"--conf spark.jars.packages=org.apache.hadoop:hadoop-aws:{_hadoop_version()}"
        hint = (
            f"Add the package hadoop-aws of Spark's Hadoop release: {package}"
            if where == path
            else f"Give the source as {path}, and the package hadoop-aws of Spark's Hadoop release: {package}"
        )
    return InvalidRequestError(
        f"Spark has no file system for the source {where!r}: {first_line(error).rstrip('.')}.", hint=hint
    )


def _hadoop_version() -> str:
    """Return the version of Hadoop in the jars of this process's Spark; ``VERSION`` if there are none."""
    import pyspark

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    jars = (path.stem for path in home.glob("jars/hadoop-client-api-*.jar"))
    return next((name.removeprefix("hadoop-client-api-") for name in jars), "VERSION")


def _in_users_lines(message: str) -> str:
    """Return a message of Spark's parser whose line number counts from the first line of the user's query."""
    return _LINE_NUMBER.sub(lambda found: f"line {max(1, int(found[1]) - 1)}", message)


def _load(
    spark: "SparkSession", source: SourceSpec, storage_options: Mapping[str, str]
) -> "tuple[SparkSession, DataFrame]":
    """Load the rows of the source without its query. Return the session of the frame, and the frame."""
    is_parquet = source.format.lower() == "parquet" and bool(source.path)
    if is_parquet and (columns := nanosecond_columns(source, storage_options)):
        # Spark converts the values in later steps, when it reads the rows.
        _LOG.warning(
            "The write stores these columns in microseconds, and drops smaller digits: %s", ", ".join(columns)
        )
        _LOG.info(_STEP)
        return read_with_nanoseconds(spark, source, columns)
    _LOG.info(_STEP)
    reader = spark.read.format(source.format).options(**strict_options(source))
    frame = reader.load(source.path) if source.path else reader.load()
    refuse_corrupt_documents(frame, source)
    return spark, frame


def in_session_zone(frame: "DataFrame", columns: StructType) -> "DataFrame":
    """Cast timestamps without time zone to timestamps with time zone, as times in Spark's session time zone.

    Args:
        columns: columns of the frame with the wanted types. Only timestamps can have other types than in the frame.
    """
    from pyspark.sql.types import StructType as SparkStructType

    return frame.to(SparkStructType.fromJson(_with_zones(frame.schema.jsonValue(), columns)))


def _with_zones(node: Any, wanted: DataType) -> Any:
    """Return the JSON form of a Spark type, with a time zone for each timestamp that has a time zone in `wanted`."""
    match wanted:
        case StructType():
            fields = [
                {**field, "type": _with_zones(field["type"], found.type)}
                if (found := wanted.find(field["name"])) is not None
                else field
                for field in node["fields"]
            ]
            return {**node, "fields": fields}
        case ArrayType():
            return {**node, "elementType": _with_zones(node["elementType"], wanted.element)}
        case MapType():
            return {**node, "valueType": _with_zones(node["valueType"], wanted.value)}
        case _:
            return "timestamp" if (node, wanted) == ("timestamp_ntz", TIMESTAMP) else node


def is_user_error(error: Exception) -> bool:
    """Whether Spark raised the error because of a wrong path, format, column, query or option, or a damaged footer.

    False for errors of the storage.
    """
    from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException

    kinds = (AnalysisException, IllegalArgumentException, ParseException)
    marks = ("CANNOT_READ_FILE_FOOTER", "DATA_SOURCE_NOT_FOUND", "Failed to find the data source")
    return isinstance(error, kinds) or any(mark in str(error) for mark in marks)


def first_line(error: Exception) -> str:
    """Return the line of the error's text that contains Spark's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # The first line of a Py4J error names the call; the second line has Java's message.
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1].lstrip(": ")
    return lines[0] if lines else type(error).__name__
