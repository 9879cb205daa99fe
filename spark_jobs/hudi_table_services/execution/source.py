"""Read the source of a request as a Spark frame."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.job_request import SourceSpec
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE_VIEW = "source"


def read_source(spark: "SparkSession", source: SourceSpec) -> "DataFrame":
    """The rows to write; Spark evaluates them when they are staged.

    Raises:
        InvalidRequestError: the source is missing, cannot be read, or the query does not fit it.
    """
    where = source.path or source.format
    try:
        reader = spark.read.format(source.format).options(**dict(source.options))
        frame = reader.load(source.path) if source.path else reader.load()
        if source.sql is None:
            return frame
        frame.createOrReplaceTempView(SOURCE_VIEW)
        return spark.sql(source.sql)
    except Exception as error:  # Spark's exception classes differ between classic and Connect
        raise InvalidRequestError(
            f"The source {where!r} (format {source.format}) cannot be read: {_first_line(error).rstrip('.')}.",
            hint="Check path, format, reader options and the SQL, whose table is called source.",
        ) from error


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
