"""A session without Spark: the driver runs every task itself, as drivers of Spark Connect do with small tasks.

Real jobs use the same code with a real session (`driver_tasks`). The session has only the methods that a job needs for
rows in memory. Tests that need Spark itself are in `tests/spark`.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

_CONNECT = "pyspark.sql.connect.in_driver"


class _Conf:
    def get(self, key: str, default: str | None = None) -> str | None:
        return default


class DriverSession:
    """Runs all tasks in this process."""

    conf = _Conf()

    def range(self, *bounds: int) -> "DriverFrame":
        return self.frame(pa.table({"id": pa.array(range(bounds[0]))}))

    def frame(self, rows: pa.Table) -> "DriverFrame":
        return DriverFrame(self, rows)


DriverSession.__module__ = _CONNECT
"""`is_connect` finds out by this name that the driver may run tasks."""


class DriverFrame:
    """Rows in memory."""

    def __init__(self, session: DriverSession, rows: pa.Table) -> None:
        self.sparkSession = session
        self._rows = rows

    @property
    def schema(self) -> Any:
        return from_arrow_schema(self._rows.schema)

    def explain(self, mode: str = "") -> None:
        print("Statistics(sizeInBytes=1.0 B")

    def selectExpr(self, everything: str, numbered: str) -> "DriverFrame":  # noqa: N802 - name in Spark
        name = numbered.rpartition(" AS ")[2]
        numbers = pa.array(range(self._rows.num_rows), pa.int64())
        return DriverFrame(self.sparkSession, self._rows.append_column(name, numbers))

    def limit(self, count: int) -> "DriverFrame":
        return DriverFrame(self.sparkSession, self._rows.slice(0, count))

    def toArrow(self) -> pa.Table:  # noqa: N802 - name in Spark
        return self._rows

    def mapInArrow(self, work: Callable[..., Any], schema: str) -> "DriverFrame":  # noqa: N802 - name in Spark
        raise AssertionError("a task failed in the driver, so that Spark would repeat it; see the log")
