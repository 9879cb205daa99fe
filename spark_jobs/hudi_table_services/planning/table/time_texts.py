"""Find string columns with dates or times, for which JSON has no types, and advise how to convert these columns."""

import re
from collections.abc import Mapping, Sequence

from hudi_table_services.planning.table.source_casts import cast_query

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d(:?\d\d)?))?")
"""The usual forms of ISO 8601."""


def types_of_times(names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> dict[str, str]:
    """Return the columns in which each value is a date or a time, as ISO 8601 writes them.

    Args:
        names: names of the columns.
        rows: values of the columns; nulls do not count.

    Returns:
        Maps the name of each column to ``DATE`` or ``TIMESTAMP``, its type in Spark SQL. Columns without values are
        left out.
    """
    values = {name: [row[n] for row in rows] for n, name in enumerate(names)}
    found = {name: _type_of([each for each in column if each is not None]) for name, column in values.items()}
    return {name: type_name for name, type_name in found.items() if type_name}


def _type_of(values: Sequence[str]) -> str:
    if values and all(map(_DATE.fullmatch, values)):
        return "DATE"
    are_times = values and all(_DATE.fullmatch(each) or _TIME.fullmatch(each) for each in values)
    return "TIMESTAMP" if are_times else ""


def warn_of_time_texts(
    times: Mapping[str, str],
    names: Sequence[str],
    *,
    cure: str = "delete the folder of the table and load again",
) -> tuple[str, ...]:
    """Return a sentence about strings that are dates or times, with a query that converts them; empty if none are.

    Args:
        times: the result of `types_of_times`.
        names: names of all columns of the source.
        cure: how to load the rows with the query, as the predicate of a sentence.
    """
    if not times:
        return ()
    return (
        f"These columns contain dates or times, but Spark reads them from JSON as strings: {', '.join(times)}. The "
        f"columns of the new table are strings. To get dates and times, {cure} with this "
        f"source query (--source-sql): {cast_query(names, times)}",
    )
