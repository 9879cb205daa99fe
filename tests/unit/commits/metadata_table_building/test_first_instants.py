"""Times of the instants that create partitions of a metadata table."""

import pytest

from hudi_table_services.commits.metadata_table_building.first_instants import (
    creates_partitions,
    first_instant_time,
)
from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_version import TimelineLayout
from hudi_table_services.model.timeline import Timeline

NEWEST = "20260102030405678"


def instant(time: str, action: Action = Action.DELTA_COMMIT, *, pending: bool = False) -> Instant:
    state = InstantState.INFLIGHT if pending else InstantState.COMPLETED
    return Instant(requested_time=time, action=action, state=state)


def timeline(*times: str) -> Timeline:
    return Timeline.of(instant(time) for time in times)


@pytest.mark.parametrize(
    ("layout", "data", "own", "expected"),
    [
        (TimelineLayout.V2, (), (), "00000000000000000"),
        (TimelineLayout.V2, (NEWEST,), (), "00000000000000000"),
        (TimelineLayout.V2, (NEWEST,), ("00000000000000000", NEWEST), "00000000000000001"),
        # The instants 0 and 1 are archived. A file of instant 1 is visible only while 2 is the oldest active instant.
        (TimelineLayout.V2, (NEWEST,), ("00000000000000002", NEWEST), "00000000000000003"),
        (TimelineLayout.V1, (), (), "00000000000000010"),
        (TimelineLayout.V1, (), ("00000000000000010",), "00000000000000011"),
        (TimelineLayout.V1, ("20260101000000000", NEWEST), (), f"{NEWEST}010"),
        (TimelineLayout.V1, (NEWEST,), (f"{NEWEST}010", f"{NEWEST}001"), f"{NEWEST}011"),
        (TimelineLayout.V1, (NEWEST,), ("20260101000000000010", f"{NEWEST}013001"), f"{NEWEST}010"),
    ],
)
def test_the_time_is_the_first_one_after_the_times_already_used(
    layout: TimelineLayout, data: tuple[str, ...], own: tuple[str, ...], expected: str
) -> None:
    assert first_instant_time(layout, timeline(*data), timeline(*own)) == expected


def test_a_pending_write_of_the_table_is_ignored() -> None:
    data = Timeline.of([instant(NEWEST), instant("20270101000000000", pending=True)])
    assert first_instant_time(TimelineLayout.V1, data, Timeline()) == f"{NEWEST}010"


def test_a_metadata_table_that_used_all_times_is_refused() -> None:
    with pytest.raises(UnsupportedTableError, match="all instant times"):
        first_instant_time(TimelineLayout.V2, Timeline(), timeline("00000000000000999"))


@pytest.mark.parametrize(
    ("found", "creates"),
    [
        (instant("00000000000000010"), True),
        (instant("00000000000000000", pending=True), True),
        (instant(f"{NEWEST}010"), True),
        (instant(NEWEST), False),
        (instant(f"{NEWEST}003"), False),
        (instant(f"{NEWEST}010001", Action.COMMIT), False),
        (instant(f"{NEWEST}006", Action.ROLLBACK), False),
    ],
)
def test_instants_that_create_partitions_are_recognized(found: Instant, creates: bool) -> None:
    assert creates_partitions(found) is creates
