"""Time, injected: planners take none, storage and jobs take a `Clock`."""

from datetime import datetime, timedelta, timezone
from typing import Protocol

from hudi_table_services.model.table_config import TableConfig

UTC = timezone.utc


class Clock(Protocol):
    """Tells the time as an aware datetime in UTC."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def instant_text(moment: datetime, config: TableConfig) -> str:
    """``yyyyMMddHHmmssSSS`` in UTC or in the writer's local zone, as the table says."""
    shown = moment if config.timeline_timezone_is_utc else moment.astimezone()
    return shown.strftime("%Y%m%d%H%M%S") + f"{shown.microsecond // 1000:03d}"


def later(moment: datetime, milliseconds: int) -> datetime:
    return moment + timedelta(milliseconds=milliseconds)
