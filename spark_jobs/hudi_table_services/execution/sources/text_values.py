"""Read the first values of columns that Spark reads as strings, to find out whether the values have another type.

`count_unread_texts` counts the values that do not have the other type, and so make Spark read a column as strings.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_table_services.execution.spark_tasks import translated_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger(__name__)

READ_ROWS = 10_000
"""Largest number of rows of a source that `count_unread_texts` reads."""

_FIRST_ROWS = 1_000
_PLAIN = re.compile(r"[\w/-]+")
"""Texts that a shell needs no quotes for."""


@dataclass(frozen=True, slots=True)
class UnreadTexts:
    """The strings of one column that cannot be read as values of another type.

    Attributes:
        type_name: the other type, such as ``double``.
        value_count: number of values that were read; nulls do not count.
        unread_count: number of these values that do not have the type.
        example: a value that does not have the type; None if all values have the type.
    """

    column: str
    type_name: str
    value_count: int
    unread_count: int
    example: str | None

    @property
    def sentence(self) -> str:
        """Return a sentence such as "price was read as text: 1 of 4 values cannot be read as double: 'n/a'."."""
        if not self.value_count:
            return f"{self.column} was read as text, because it has no value."
        if not self.unread_count:
            return f"{self.column} was read as text, although all {self.value_count} values are {self.type_name}."
        return (
            f"{self.column} was read as text: {self.unread_count} of {self.value_count} values cannot be read as "
            f"{self.type_name}: {self.example!r}."
        )

    @property
    def null_option(self) -> str:
        """Return the reader option with which Spark reads the example as null, as the user writes it."""
        text = self.example or ""
        if not text or "'" in text or not text.isprintable():
            return "the source option nullValue"
        return f"--source-option nullValue={text if _PLAIN.fullmatch(text) else repr(text)}"


def count_unread_texts(frame: "DataFrame", columns: Mapping[str, str]) -> tuple[UnreadTexts, ...]:
    """Count the strings that Spark cannot cast, among the first `READ_ROWS` rows, in one Spark job.

    Args:
        columns: maps the name of each column to count to the name of a type in Spark SQL.

    Raises the errors of `translated_errors`.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the usual name of this module

    if not columns:
        return ()
    parts = []
    for position, (name, type_name) in enumerate(columns.items()):
        quoted = f"`{name.replace('`', '``')}`"
        is_unread = f"{quoted} IS NOT NULL AND try_cast({quoted} AS {type_name}) IS NULL"
        parts += [
            F.expr(f"count({quoted})").alias(f"values{position}"),
            F.expr(f"count_if({is_unread})").alias(f"unread{position}"),
            F.expr(f"min(CASE WHEN {is_unread} THEN {quoted} END)").alias(f"example{position}"),
        ]
    with translated_errors(frame.sparkSession, "Counting the texts of the source that are no numbers"):
        row = frame.limit(READ_ROWS).agg(*parts).collect()[0]
    return tuple(
        UnreadTexts(name, type_name, row[f"values{n}"], row[f"unread{n}"], row[f"example{n}"])
        for n, (name, type_name) in enumerate(columns.items())
    )


def first_texts(frame: "DataFrame", names: Sequence[str]) -> Sequence[tuple[str | None, ...]]:
    """Return the first rows of columns of strings: at most 1,000 rows, from as few partitions as possible.

    Return no rows if Spark cannot read them. When the job stages the rows, it reports the error.
    """
    if not names:
        return ()
    try:
        found = frame.select(*(f"`{name.replace('`', '``')}`" for name in names)).limit(_FIRST_ROWS).collect()
    except Exception:  # noqa: BLE001 - only advice depends on these rows
        _LOG.debug("The first rows of the source were not read.", exc_info=True)
        return ()
    return [tuple(row) for row in found]
