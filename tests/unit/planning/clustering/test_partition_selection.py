"""The partitions that clustering considers, and the report on selected partitions that do not exist."""

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import PartitionFilterMode
from hudi_table_services.planning.clustering.partitions import PartitionSelection, select_partitions
from support.default_options import clustering_options

DAYS = tuple(f"2024/01/{day:02}" for day in range(1, 31))
PATTERN = "hoodie.clustering.plan.strategy.partition.regex.pattern"
SELECTED = "hoodie.clustering.plan.strategy.partition.selected"
MODE = "hoodie.clustering.plan.partition.filter.mode"


def select(partitions: tuple[str, ...] = DAYS, hour: int = 0, **changes: object) -> PartitionSelection:
    return select_partitions(partitions, clustering_options(**changes), hour)  # type: ignore[arg-type]


def test_all_partitions_are_selected_without_filters() -> None:
    selection = select(tuple(reversed(DAYS)))
    assert (selection.partitions, selection.total, selection.reason) == (DAYS, 30, "")


def test_the_pattern_must_match_the_whole_path() -> None:
    assert select(partition_pattern="2024/01/0").partitions == ()
    selection = select(partition_pattern="2024/01/0.")
    assert selection.partitions == DAYS[:9]
    assert selection.reason == f"partitions that match {PATTERN}=2024/01/0.: 9 of 30"


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "*"])
def test_an_error_about_an_invalid_pattern_names_the_option(pattern: str) -> None:
    with pytest.raises(InvalidRequestError, match=PATTERN.replace(".", r"\.")):
        select(partition_pattern=pattern)


def test_selected_partitions_keep_their_order_and_the_pattern_is_ignored() -> None:
    selection = select(selected_partitions=(DAYS[3], DAYS[1], DAYS[3]), partition_pattern="nothing")
    assert selection.partitions == (DAYS[3], DAYS[1])
    assert selection.reason == f"partitions that match {SELECTED}={DAYS[3]},{DAYS[1]},{DAYS[3]}: 2 of 30"


def test_missing_selected_partitions_are_reported() -> None:
    selection = select(selected_partitions=("2024/01/01", " 2024/01/02", "x"))
    assert selection.partitions == ("2024/01/01",)
    assert selection.unknown == (" 2024/01/02", "x")
    assert selection.reason == (
        f"partitions that match {SELECTED}=2024/01/01, 2024/01/02,x: 1 of 30; "
        "the table has no partition ' 2024/01/02', 'x'"
    )


@pytest.mark.parametrize(
    ("lookback", "skip", "expected"),
    [
        (2, 0, DAYS[:-3:-1]),
        (2, 1, DAYS[-2:-4:-1]),
        (0, 28, (DAYS[1], DAYS[0])),
        (-1, 0, DAYS[::-1]),
        (2, 30, ()),
        (2, 31, ()),
        (1, -5, DAYS[-1:]),
    ],
)
def test_recent_days_are_the_last_partitions_in_text_order(
    lookback: int, skip: int, expected: tuple[str, ...]
) -> None:
    selection = select(
        partition_filter_mode=PartitionFilterMode.RECENT_DAYS,
        lookback_partitions=lookback,
        skip_from_latest=skip,
    )
    assert selection.partitions == expected
    assert selection.reason == (
        f"partitions that match {MODE}=RECENT_DAYS "
        f"(hoodie.clustering.plan.strategy.daybased.lookback.partitions={lookback}, "
        f"hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions={skip}): {len(expected)} of 30"
    )


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (DAYS[2], DAYS[4], DAYS[2:5]),
        (DAYS[28], "", DAYS[28:]),
        ("", DAYS[0], DAYS[:1]),
        ("", "", DAYS),
        ("2025", "2026", ()),
    ],
)
def test_a_range_includes_both_ends(begin: str, end: str, expected: tuple[str, ...]) -> None:
    mode = PartitionFilterMode.SELECTED_PARTITIONS
    selection = select(partition_filter_mode=mode, begin_partition=begin, end_partition=end)
    assert selection.partitions == expected


def test_day_rolling_selects_each_partition_in_one_hour_of_the_day() -> None:
    mode = PartitionFilterMode.DAY_ROLLING
    assert select(partition_filter_mode=mode, hour=1).partitions == (DAYS[1], DAYS[25])
    by_hour = [select(partition_filter_mode=mode, hour=hour).partitions for hour in range(24)]
    assert sorted(p for partitions in by_hour for p in partitions) == list(DAYS)


def test_pattern_and_mode_are_combined() -> None:
    selection = select(
        partition_pattern="2024/01/1.", partition_filter_mode=PartitionFilterMode.DAY_ROLLING, hour=23
    )
    assert selection.partitions == ()
    assert selection.reason == (
        f"partitions that match {PATTERN}=2024/01/1. and {MODE}=DAY_ROLLING (hour 23): 0 of 30"
    )
