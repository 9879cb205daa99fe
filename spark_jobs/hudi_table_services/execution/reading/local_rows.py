"""Make DataFrames of few rows that the driver has, without a Python worker.

For a list of rows, ``SparkSession.createDataFrame`` starts a Python task (PySpark 3.5 and 4), which takes longer than
the read of the rows. Spark evaluates an inline table of SQL in the driver.
"""

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType as SparkStructType

FLAT_TYPES = frozenset(
    {"binary", "boolean", "byte", "date", "decimal", "double", "float", "integer", "long", "short", "string"}
    | {"timestamp", "timestamp_ntz"}
)
"""Names of Spark's types whose values `local_frame` accepts."""


def local_frame(
    spark: "SparkSession", rows: Sequence[tuple[Any, ...]], schema: "SparkStructType"
) -> "DataFrame":
    """Return a DataFrame of the rows with one partition. Spark parses one SQL expression for each value.

    Args:
        rows: values as ``pyarrow.Table.to_pylist`` returns them: times of the type ``timestamp`` have a time zone.
        schema: nullable columns; their types are in `FLAT_TYPES` if there are rows.
    """
    if not rows:
        return spark.createDataFrame([], schema).coalesce(1)
    types = [field.dataType.simpleString() for field in schema.fields]
    texts = [
        [f"CAST({_text(value)} AS {name})" for value, name in zip(row, types, strict=True)] for row in rows
    ]
    # A column is nullable if an expression with NULL is among its values.
    texts[0] = [f"IF(FALSE, NULL, {text})" for text in texts[0]]
    lines = ", ".join(f"({', '.join(each)})" for each in texts)
    return spark.sql(f"VALUES {lines}").toDF(*schema.names).coalesce(1)


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
