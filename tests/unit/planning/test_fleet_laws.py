"""Ranking of tables: laws for any fleet, and examples."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.planning.fleet import FleetService, TableNeed, benefit, rank

NEEDS = st.lists(
    st.builds(
        TableNeed,
        key=st.text("abcdef", min_size=1, max_size=4),
        small_files=st.integers(0, 5),
        small_file_ratio=st.sampled_from([0.0, 0.5, 1.0]),
        log_files=st.integers(0, 3),
        log_bytes=st.integers(0, 5),
        outdated_files=st.integers(0, 3),
        outdated_bytes=st.integers(0, 5),
        is_cleanable=st.booleans(),
        is_trusted=st.booleans(),
    ),
    unique_by=lambda each: each.key,
    max_size=12,
)
SERVICES = st.sampled_from(FleetService)


@given(needs=NEEDS, service=SERVICES, quota=st.integers(-1, 14), at_least=st.integers(0, 4))
def test_the_tables_with_the_largest_benefit_are_chosen_up_to_the_quota(
    needs: Sequence[TableNeed], service: FleetService, quota: int, at_least: int
) -> None:
    chosen = rank(needs, service, quota=quota, at_least=at_least)
    gains = [benefit(each, service) for each in chosen]
    assert gains == sorted(gains, reverse=True)
    assert all(gain >= max(1, at_least) for gain in gains)
    left = [benefit(each, service) for each in needs if each not in chosen]
    worthwhile = [gain for gain in left if gain >= max(1, at_least)]
    assert len(chosen) == min(max(0, quota), len(chosen) + len(worthwhile)), (
        "the quota is used up if there are enough worthwhile tables"
    )
    assert not chosen or all(gain <= gains[-1] for gain in worthwhile)


@given(needs=NEEDS, service=SERVICES, quota=st.integers(0, 12), data=st.data())
def test_the_ranking_does_not_depend_on_input_order_and_a_larger_quota_only_adds_tables(
    needs: Sequence[TableNeed], service: FleetService, quota: int, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(needs))
    chosen = rank(needs, service, quota=quota)
    assert rank(shuffled, service, quota=quota) == chosen
    assert rank(shuffled, service, quota=quota + 1)[: len(chosen)] == chosen


@given(needs=NEEDS, service=SERVICES)
def test_a_table_that_cannot_be_trusted_is_never_chosen(
    needs: Sequence[TableNeed], service: FleetService
) -> None:
    assert all(each.is_trusted for each in rank(needs, service, quota=99))


def test_each_service_has_its_own_order() -> None:
    many_small = TableNeed(key="a", small_files=9, outdated_bytes=1, is_cleanable=True)
    large_waste = TableNeed(key="b", small_files=2, outdated_bytes=500, is_cleanable=True)
    still_kept = TableNeed(key="c", outdated_bytes=900, log_files=1, log_bytes=7)
    needs = (large_waste, many_small, still_kept)
    assert rank(needs, FleetService.CLUSTERING, quota=9) == (many_small, large_waste)
    assert rank(needs, FleetService.COMPACTION, quota=9) == (still_kept,)
    assert rank(needs, FleetService.CLEANING, quota=9) == (large_waste, many_small)
    assert rank(needs, FleetService.CLEANING, quota=9, at_least=2) == (large_waste,)


def test_tables_with_equal_benefit_are_ordered_by_their_share_of_small_files() -> None:
    part = TableNeed(key="a", small_files=4, small_file_ratio=0.1)
    whole = TableNeed(key="b", small_files=4, small_file_ratio=1.0)
    assert rank((part, whole), FleetService.CLUSTERING, quota=1) == (whole,)


def test_tables_with_equal_log_bytes_are_ordered_by_their_log_files() -> None:
    one = TableNeed(key="a", log_files=1, log_bytes=8)
    many = TableNeed(key="b", log_files=4, log_bytes=8)
    assert rank((one, many), FleetService.COMPACTION, quota=1) == (many,)
