"""Instant times: they are in the time zone of the table, and always increase."""

import time
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.storage.clock import ClockNotBefore, instant_text, instant_time
from support.fixed_clock import FixedClock

UTC_TABLE = TableConfig({"hoodie.table.timeline.timezone": "UTC"})
LOCAL_TABLE = TableConfig({})
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_999, timezone.utc)


def test_an_instant_time_has_milliseconds_and_is_in_utc() -> None:
    assert instant_text(MOMENT, UTC_TABLE) == "20260102030405678"
    assert instant_text(MOMENT.astimezone(timezone(timedelta(hours=5))), UTC_TABLE) == "20260102030405678"


def test_a_table_with_local_time_uses_the_time_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert instant_text(MOMENT, LOCAL_TABLE) == "20260102083405678"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("", "20260102030405678"),
        ("20260102030405677", "20260102030405678"),
        ("20260102030405678", "20260102030405679"),
        ("20261231235959999", "20270101000000000"),
        ("20270101000000", "20270101000001000"),
        ("20270101000000000012", "20270101000000001"),
        ("99999999999999998", "99999999999999999"),
    ],
)
def test_an_instant_time_is_later_than_the_newest_known_time(after: str, expected: str) -> None:
    assert instant_time(MOMENT, UTC_TABLE, after=after) == expected
    assert expected > after


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1)),
    st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1)),
)
def test_instant_times_always_increase_even_if_the_clock_is_set_back(
    first: datetime, second: datetime
) -> None:
    earlier = instant_time(first.replace(tzinfo=timezone.utc), UTC_TABLE)
    later = instant_time(second.replace(tzinfo=timezone.utc), UTC_TABLE, after=earlier)
    assert later > earlier
    assert len(later) == 17


def test_a_clock_that_is_behind_another_timeline_returns_the_time_of_that_timeline() -> None:
    later = MOMENT + timedelta(hours=1)
    assert ClockNotBefore(FixedClock(MOMENT), later).now() == later
    assert ClockNotBefore(FixedClock(later), MOMENT).now() == later
