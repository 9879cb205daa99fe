"""Sort partitions by the dates in their paths, as DayBasedCompactionStrategy does (Hudi 1.2.0).

Release 0.15.0 sorts the paths as strings, and its plan has no bound on input and output; this project follows 1.2.0.
"""

import re
from collections.abc import Iterable
from datetime import date

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.keys.compaction import COMPACTION_STRATEGY

_FIRST_FIELD = re.compile(r".*?=")
_LATER_FIELD = re.compile(r"/.*?=")
# The pattern ignores all characters after the date, as SimpleDateFormat does.
_DATE = re.compile(r"(\d{1,4})/(\d{1,2})/(\d{1,2})", re.ASCII)
_MONTHS = 12


def newest_first(partition_paths: Iterable[str]) -> list[str]:
    """Sort partitions by their date ``yyyy/MM/dd``, newest first. Partitions of one day are in descending order.

    Names of fields, as in ``year=2026/month=01/day=31``, are ignored. As in Java, a day or month beyond its range
    belongs to the next month or year. Hudi keeps partitions of one day in the order of its listing.

    Raises:
        InvalidRequestError: a path does not begin with a date.
    """
    return sorted(partition_paths, key=lambda path: (_day_number(path), path), reverse=True)


def _day_number(partition_path: str) -> int:
    text = partition_path
    if "=" in text:
        text = _LATER_FIELD.sub("/", _FIRST_FIELD.sub("", text, count=1))
    match = _DATE.match(text)
    if match is None:
        raise InvalidRequestError(
            f"{COMPACTION_STRATEGY} needs partition paths that begin with a date yyyy/MM/dd, "
            f"but the table has the partition {partition_path!r}.",
            hint="Use another strategy.",
        )
    year, month, day = map(int, match.groups())
    months = year * _MONTHS + month - 1
    try:
        first = date(months // _MONTHS, months % _MONTHS + 1, 1)
    except ValueError as error:
        raise InvalidRequestError(f"The partition {partition_path!r} has no valid date: {error}.") from error
    return first.toordinal() + day - 1
