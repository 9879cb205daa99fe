"""Make DataFrames of few rows that the driver has, without a Python worker.

For a list of rows, ``SparkSession.createDataFrame`` starts a Python task, except with Spark Connect. The task takes
longer than the read of the rows. Spark's driver itself evaluates an inline table of SQL.
"""

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hudi_table_services.execution.sessions.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType as SparkStructType

FLAT_TYPES = frozenset(
    {"binary", "boolean", "byte", "date", "decimal", "double", "float", "integer", "long", "short", "string"}
    | {"timestamp", "timestamp_ntz"}
)
"""Names of Spark's types whose values `local_frame` accepts."""

_KEYWORDS = {"timestamp": "timestamp_ltz"}
"""Names of types in SQL that differ from Spark's names. The meaning of ``timestamp`` depends on a setting."""


def local_frame(
    spark: "SparkSession", rows: Sequence[tuple[Any, ...]], schema: "SparkStructType"
) -> "DataFrame":
    """Return a DataFrame of the rows with one partition. Spark parses one SQL expression for each value.

    Args:
        rows: values as ``pyarrow.Table.to_pylist`` returns them: times of the type ``timestamp`` have a time zone.
        schema: nullable columns; their types are in `FLAT_TYPES` if there are rows.
    """
    if not rows:
        return _empty_frame(spark, schema)
    types = [_KEYWORDS.get(name := field.dataType.simpleString(), name) for field in schema.fields]
    texts = [
        [f"CAST({_text(value)} AS {name})" for value, name in zip(row, types, strict=True)] for row in rows
    ]
    # A column of an inline table is nullable only if one of its expressions is.
    texts[0] = [f"IF(FALSE, NULL, {text})" for text in texts[0]]
    lines = ", ".join(f"({', '.join(each)})" for each in texts)
    frame = spark.sql(f"VALUES {lines}").toDF(*schema.names)
    # Each further step costs several milliseconds, so only the necessary steps are added.
    if any(field.metadata for field in schema.fields):
        frame = frame.to(schema)
    return frame.coalesce(1) if len(rows) > 1 else frame


def _empty_frame(spark: "SparkSession", schema: "SparkStructType") -> "DataFrame":
    if is_connect(spark):
        return spark.createDataFrame([], schema)
    from pyspark.sql.functions import lit

    nothing = spark.range(0, 0, 1, 1)
    return nothing.select(*(lit(None).cast(each.dataType).alias(each.name) for each in schema)).to(schema)


def _text(value: Any) -> str:
    """Return a literal of SQL that a cast turns into the value, whatever the settings of the session are."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        # A cast of bytes to a string keeps them. A text in quotes depends on spark.sql.parser.escapedStringLiterals.
        value = value.encode()
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    # Casts of these texts are exact. A literal number may get another type first.
    return f"'{value.isoformat() if isinstance(value, dt.date) else value}'"
