"""Read the clock, and convert instant times. Storage and jobs receive a `Clock`; planners never read the time."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Protocol

from hudi_table_services.model.table_config import TableConfig

UTC = timezone.utc
_MILLISECOND = timedelta(milliseconds=1)
_DIGITS = 17
_PATTERN = "%Y%m%d%H%M%S%f"


class Clock(Protocol):
    """Source of the current time, as an aware datetime in UTC."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ClockNotBefore:
    """A clock that never returns a time before `moment`.

    A metadata table needs this clock: its new instants must be later than all instants of its table, even if this
    machine's clock is behind the clock of another writer.
    """

    clock: Clock
    moment: datetime

    def now(self) -> datetime:
        return max(self.clock.now(), self.moment)


def instant_text(moment: datetime, config: TableConfig) -> str:
    """Format a time as ``yyyyMMddHHmmssSSS`` in the time zone of the table's timeline.

    That zone is UTC or the machine's zone (Hudi's default).
    """
    shown = moment.astimezone(UTC) if config.timeline_timezone_is_utc else moment.astimezone()
    return _text(shown)


def instant_moment(text: str, config: TableConfig) -> datetime | None:
    """Parse an instant time as a datetime in UTC.

    Return None if the digits are not a date, as in Hudi's initialising instants.
    """
    try:
        moment = datetime.strptime(text[:_DIGITS].ljust(_DIGITS, "0"), _PATTERN)  # noqa: DTZ007 - the zone is set below
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if config.timeline_timezone_is_utc else moment.astimezone(UTC)


def zone_at(text: str, config: TableConfig) -> tzinfo:
    """Return the timeline's time zone at an instant time: UTC, or the offset of the machine's zone at that time."""
    moment = instant_moment(text, config)
    local = None if moment is None or config.timeline_timezone_is_utc else moment.astimezone().tzinfo
    return local or UTC


def age_text(seconds: float) -> str:
    """Format an age for display, in whole minutes, hours or days."""
    minutes = int(seconds // 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"


def instant_time(now: datetime, config: TableConfig, *, after: str = "") -> str:
    """Return the instant time for `now`, or `after` plus one millisecond if `now` is not later than `after`.

    Instant times are compared as strings and must never repeat, even if a clock is set back, daylight-saving time ends,
    or the instant of another writer is in the future.

    Args:
        after: newest known instant time, with 14 to 20 digits; empty if there is no instant.
    """
    text = instant_text(now, config)
    return text if text > after else _next(after)


def _next(text: str) -> str:
    digits = text[:_DIGITS].ljust(_DIGITS, "9")
    try:
        return _text(datetime.strptime(digits, _PATTERN) + _MILLISECOND)  # noqa: DTZ007 - the zone does not matter
    except (ValueError, OverflowError):
        # The digits are not a date, as in Hudi's initialising instants.
        return str(int(digits) + 1).zfill(_DIGITS)


def _text(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%S") + f"{moment.microsecond // 1000:03d}"
