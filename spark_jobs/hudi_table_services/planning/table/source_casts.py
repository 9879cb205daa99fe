"""Write source queries that cast columns, as advice in errors and warnings, and refuse queries that repeat a column."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import (
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    PrimitiveType,
    StructType,
    is_legal_name,
)

_SQL_NAMES = {"long": "bigint", "bytes": "binary"}
_STAR = re.compile(r"^(select\s+\*)(?=\s*,)", re.IGNORECASE)
"""Matches the beginning of a query that returns all columns of the source, and more columns."""
_TIMES = frozenset({DATE, TIMESTAMP, TIMESTAMP_NTZ})
_NUMBERS = frozenset({"int", "long", "float", "double"})


def cast_query(
    names: Sequence[str], casts: Mapping[str, str], *, function: str = "CAST", rows: str = "source"
) -> str:
    """Return a query on the view `source` that casts some columns and keeps the other columns.

    Args:
        names: names of all columns of the rows.
        casts: maps the name of each column to cast to the name of a type in Spark SQL.
        function: ``CAST``, or ``TRY_CAST``, which returns null for a value that cannot be cast.
        rows: the rows to read: the view, or a query on the view in brackets.
    """
    columns = ", ".join(
        f"{function}({_quoted(name)} AS {casts[name]}) AS {_quoted(name)}" if name in casts else _quoted(name)
        for name in names
    )
    return f"SELECT {columns} FROM {rows}"  # noqa: S608 - advice, not a query of this program


def rows_of(source: SourceSpec | None) -> str:
    """Return what a query must read to get the rows of a write: the view `source`, or the query of the request."""
    if source is None or source.sql is None:
        return "source"
    return f"({source.sql.strip().rstrip(';').strip()})"


def refuse_repeated_columns(batch: StructType, source: SourceSpec | None) -> None:
    """Refuse the result of a source query if it contains a column several times, such as in ``SELECT *, … AS at``.

    Raises:
        InvalidRequestError: the message names the column, and the hint contains a complete query.
    """
    if source is None or source.sql is None:
        return
    count = Counter(field.name.lower() for field in batch.fields)
    repeated = list(dict.fromkeys(field.name for field in batch.fields if count[field.name.lower()] > 1))
    if not repeated:
        return
    name = repeated[0]
    excluded = ", ".join(_quoted(each) for each in {each.lower(): each for each in repeated}.values())
    query, changed = _STAR.subn(lambda found: f"{found[1]} EXCEPT ({excluded})", source.sql.strip(), count=1)
    times = "twice" if count[name.lower()] == 2 else f"{count[name.lower()]} times"
    raise InvalidRequestError(
        f"The source query (--source-sql) returns the column {name!r} {times}.",
        hint=f"Exclude the column from the asterisk: {query}. Spark 3.5 has no EXCEPT; name all columns there."
        if changed
        else "Leave out one of the columns, or give it another name.",
    )


def sql_name(data_type: DataType) -> str:
    """Return the name of a simple type in Spark SQL, such as ``bigint``."""
    return _SQL_NAMES.get(str(data_type), str(data_type))


def can_be_cast(given: DataType, wanted: DataType) -> bool:
    """Whether Spark SQL accepts a cast between two types that are strings or numbers; False for all other types."""
    return all(_is_number(each) or each == PrimitiveType("string") for each in (given, wanted))


def is_cast_of_times(given: DataType, wanted: DataType) -> bool:
    """Whether Spark SQL accepts a cast between two types that are dates, times or strings; False for other types."""
    return all(each in _TIMES or each == PrimitiveType("string") for each in (given, wanted))


def _quoted(name: str) -> str:
    return name if is_legal_name(name) else f"`{name.replace('`', '``')}`"


def _is_number(data_type: DataType) -> bool:
    return isinstance(data_type, DecimalType) or str(data_type) in _NUMBERS
