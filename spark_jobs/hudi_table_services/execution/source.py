"""Read the source of a request as a Spark frame."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.job_request import SourceSpec
from hudi_table_services.errors import ExecutionFailedError, InvalidRequestError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE_VIEW = "source"


def read_source(spark: "SparkSession", source: SourceSpec) -> "DataFrame":
    """The rows to write; Spark evaluates them when they are staged.

    Raises:
        InvalidRequestError: the source is missing, is not what the request says, or the query does not fit it.
        ExecutionFailedError: storage or Spark failed.
    """
    where = source.path or source.format
    try:
        reader = spark.read.format(source.format).options(**dict(source.options))
        frame = reader.load(source.path) if source.path else reader.load()
        if source.sql is None:
            return frame
        frame.createOrReplaceTempView(SOURCE_VIEW)
        return spark.sql(source.sql)
    except Exception as error:
        if not isinstance(error, _mistakes()):
            raise ExecutionFailedError(
                f"The source {where!r} (format {source.format}) was not read: {_first_line(error).rstrip('.')}.",
                hint="Nothing was written; run the request again.",
            ) from error
        raise InvalidRequestError(
            f"The source {where!r} (format {source.format}) cannot be read: {_first_line(error).rstrip('.')}.",
            hint="Check path, format, reader options and the SQL, whose table is called source.",
        ) from error


def _mistakes() -> tuple[type[Exception], ...]:
    """What Spark says of paths that are not there, formats and columns it does not know, SQL and options."""
    from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException

    return (AnalysisException, IllegalArgumentException, ParseException)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
