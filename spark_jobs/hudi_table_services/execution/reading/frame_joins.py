"""Compare two DataFrames by key columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def without_keys(rows: "DataFrame", others: "DataFrame", names: Sequence[str]) -> "DataFrame":
    """Return the rows of `rows` for which `others` has no row with the same key. A null equals a null.

    Args:
        names: key columns, which both DataFrames have.
    """
    from pyspark.sql.functions import expr

    # Both DataFrames may come from the same reads, so the columns of one side get names that occur only once.
    wanted = others.selectExpr(*(f"{quoted(name)} AS __key_{i}" for i, name in enumerate(names))).distinct()
    same = " AND ".join(f"{quoted(name)} <=> __key_{i}" for i, name in enumerate(names))
    return rows.join(wanted, expr(same), "left_anti")


def quoted(name: str) -> str:
    """Return a column name in the notation of Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"
