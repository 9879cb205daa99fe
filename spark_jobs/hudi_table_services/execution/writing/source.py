"""Read the source of a request as a Spark frame."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.writing import SourceSpec
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
        # In brackets Spark's grammar takes a query and nothing else: no statement that changes something.
        return spark.sql(f"(\n{source.sql.strip().rstrip(';')}\n)")
    except Exception as error:
        if not _is_mistake(error):
            raise ExecutionFailedError(
                f"The source {where!r} (format {source.format}) was not read: {_first_line(error).rstrip('.')}.",
                hint="Nothing was written; run the request again.",
            ) from error
        raise InvalidRequestError(
            f"The source {where!r} (format {source.format}) cannot be read: {_first_line(error).rstrip('.')}.",
            hint="Check path, format, reader options and the SQL: one query, whose table is called source.",
        ) from error


def _is_mistake(error: Exception) -> bool:
    """Whether it is of the kind that Spark raises for paths, formats, columns, SQL and options that are not right.

    Of a file whose footer makes no sense it speaks by a condition; storage that fails is another error.
    """
    from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException

    kinds = (AnalysisException, IllegalArgumentException, ParseException)
    return isinstance(error, kinds) or "CANNOT_READ_FILE_FOOTER" in str(error)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Py4J says first which call it was, and then what Java says.
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1].lstrip(": ")
    return lines[0] if lines else type(error).__name__
