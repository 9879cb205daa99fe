"""Convert the points in time that users write in queries to instant times."""

import re
from datetime import datetime, time, timezone

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.query import EARLIEST
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.storage.clock import instant_text

_INSTANT = re.compile(r"\d{14,17}", re.ASCII)
_DIGITS = re.compile(r"\d{1,23}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def instant_of(text: str, config: TableConfig) -> str:
    """Return the instant time that a point in time means (HoodieSqlCommonUtils.formatQueryInstant, Hudi 1.2).

    Args:
        text: an instant time with 14 or 17 digits, a date, or a date and time in ISO 8601. Without an offset, dates and
            times are in the time zone of the timeline.

    Raises:
        InvalidRequestError: the text has another form.
    """
    wanted = text.strip()
    if _INSTANT.fullmatch(wanted):
        return wanted
    try:
        if _DAY.fullmatch(wanted):
            moment = datetime.combine(datetime.strptime(wanted, "%Y-%m-%d"), time())  # noqa: DTZ007 - see above
        else:
            moment = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", wanted))
    except ValueError:
        raise InvalidRequestError(
            f"{text!r} is not a point in time.",
            hint="Write an instant time such as 20260102030405006, or 2026-01-02 03:04:05.006, or 2026-01-02.",
        ) from None
    if moment.tzinfo is not None:
        return instant_text(moment.astimezone(timezone.utc), config)
    return moment.strftime("%Y%m%d%H%M%S") + f"{moment.microsecond // 1000:03d}"


def window_bound(text: str, config: TableConfig) -> str:
    """Return a bound of a window; empty for `EARLIEST` and zeros such as ``000``, which are before all instants.

    Raises:
        InvalidRequestError: the text is not a point in time.
    """
    wanted = text.strip()
    if wanted.lower() == EARLIEST or (_DIGITS.fullmatch(wanted) and not wanted.strip("0")):
        return ""
    return wanted if _DIGITS.fullmatch(wanted) else instant_of(wanted, config)
