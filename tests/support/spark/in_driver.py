"""A session without Spark: the driver runs every task itself, as drivers of Spark Connect do with small tasks.

Real jobs use the same code with a real session (`driver_tasks`). The session has only the methods that a job needs for
rows in memory. Tests that need Spark itself are in `tests/spark`.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

MapWork = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]
_CONNECT = "pyspark.sql.connect.in_driver"


class _Conf:
    def get(self, key: str, default: str | None = None) -> str | None:
        return default


class DriverSession:
    """Runs all tasks in this process."""

    conf = _Conf()

    def range(self, *bounds: int) -> "DriverFrame":
        stop = bounds[1] if len(bounds) > 1 else bounds[0]
        return self.frame(pa.table({"id": pa.array(range(stop), pa.int64())}))

    def frame(self, rows: pa.Table) -> "DriverFrame":
        return DriverFrame(self, rows)

    def createDataFrame(self, rows: list[Any], schema: Any) -> "DriverFrame":  # noqa: N802 - name in Spark
        types = to_arrow_schema(schema, timezone="UTC")
        named = [row if isinstance(row, dict) else dict(zip(types.names, row, strict=True)) for row in rows]
        return self.frame(pa.Table.from_pylist(named, types))

    def addArtifacts(self, *paths: str, pyfile: bool = False) -> None:  # noqa: N802 - name in Spark
        """The driver has the engine already."""


DriverSession.__module__ = _CONNECT
"""By this name, `is_connect` recognizes a session whose driver may run tasks."""


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

    def mapInArrow(self, work: MapWork, schema: str) -> "DriverFrame":  # noqa: N802 - name in Spark
        """Run work again that failed in the driver for a reason other than the rows, as Spark does."""
        return DriverFrame(self.sparkSession, pa.Table.from_batches(list(work(self._rows.to_batches()))))

    def repartition(self, count: int, column: str) -> "DriverFrame":
        """All rows are in one partition, so the work gets the rows of all partitions."""
        return self

    def coalesce(self, count: int) -> "DriverFrame":
        """All rows are in one partition."""
        return self

    def sortWithinPartitions(self, *columns: str) -> "DriverFrame":  # noqa: N802 - name in Spark
        return DriverFrame(self.sparkSession, self._rows.sort_by([(name, "ascending") for name in columns]))

    def collect(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self._rows.to_pylist()]
