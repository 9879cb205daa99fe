"""Arithmetic with instant times."""

from datetime import datetime, timedelta, timezone, tzinfo

from hudi_table_services.errors import MalformedMetadataError

_PATTERN = "%Y%m%d%H%M%S%f"
_DIGITS = 17
# Hudi reads an instant time without milliseconds as the last millisecond of its second.
_LAST_MILLIS = "999"
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def instant_millis(instant_time: str, zone: tzinfo) -> int:
    """Time of an instant in milliseconds since 1970, as the record index stores it (HoodieInstantTimeGenerator).

    Args:
        zone: time zone of the timeline. If a local time occurs twice, the first one is meant, as in Java.

    Raises:
        MalformedMetadataError: the digits are no time, as in the first instants of a metadata table.
    """
    return (_parsed(instant_time).replace(tzinfo=zone) - _EPOCH) // _MILLISECOND


def one_millisecond_before(instant_time: str) -> str:
    """The instant time that is one millisecond earlier, with 17 digits.

    Raises:
        MalformedMetadataError: the digits are no time.
    """
    moment = _parsed(instant_time) - _MILLISECOND
    return moment.strftime("%Y%m%d%H%M%S") + f"{moment.microsecond // 1000:03d}"


def _parsed(instant_time: str) -> datetime:
    digits = instant_time[:_DIGITS]
    try:
        # The caller sets the zone, if it matters.
        return datetime.strptime(digits if len(digits) == _DIGITS else digits + _LAST_MILLIS, _PATTERN)  # noqa: DTZ007
    except ValueError as error:
        raise MalformedMetadataError(f"{instant_time!r} is not the time of a commit: {error}.") from error
