"""Convert instant times to milliseconds, and subtract a millisecond from them."""

import re
from datetime import datetime, timedelta, timezone, tzinfo

from hudi_table_services.errors import MalformedMetadataError

_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:(\d{3})\d*)?$", re.ASCII)
# Hudi reads an instant time without milliseconds as the last millisecond of its second.
_LAST_MILLIS = "999"
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def instant_millis(instant_time: str, zone: tzinfo) -> int:
    """Return the time of an instant in milliseconds since 1970, as the record index stores the time.

    The function follows HoodieInstantTimeGenerator of Hudi.

    Args:
        zone: time zone of the timeline. If a local time occurs twice, the result is the first of the two times, as in
            Java.

    Raises:
        MalformedMetadataError: the digits are not a valid time, for example in the first instants of a metadata table.
    """
    return (_parsed(instant_time).replace(tzinfo=zone) - _EPOCH) // _MILLISECOND


def one_millisecond_before(instant_time: str) -> str:
    """Return the instant time that is one millisecond earlier, with 17 digits.

    Raises:
        MalformedMetadataError: the digits are not a valid time.
    """
    moment = _parsed(instant_time) - _MILLISECOND
    return f"{moment.year:04d}{moment:%m%d%H%M%S}{moment.microsecond // 1000:03d}"


def _parsed(instant_time: str) -> datetime:
    match = _TIME.match(instant_time)
    if match is None:
        raise MalformedMetadataError(f"{instant_time!r} is not the time of a commit.")
    year, month, day, hour, minute, second, millis = map(int, match.groups(default=_LAST_MILLIS))
    try:
        return datetime(year, month, day, hour, minute, second, millis * 1000)  # noqa: DTZ001 - callers set the zone
    except ValueError as error:
        raise MalformedMetadataError(f"{instant_time!r} is not the time of a commit: {error}.") from error
