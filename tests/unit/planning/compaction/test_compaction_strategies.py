"""A strategy drops, sorts and bounds slices as Hudi's class of the same name does."""

from dataclasses import replace

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.compaction.compaction_proposal import CompactionInput, CompactionProposal
from hudi_table_services.model.compaction.compaction_settings import CompactionStrategyKind
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.options.compaction.compaction_options import compaction_options
from hudi_table_services.planning.compaction.planner import plan_compaction
from support.merge_on_read import LOG_TIME, MIB, PLAN_TIME, a_slice, a_table, compaction

SIZE, NUM, IO, ALL, DAY = CompactionStrategyKind
GIVEN = CompactionInput(instant_time=PLAN_TIME)

# TOTAL_IO_MB of FileSliceMetricUtils: base and logs read, base (or 120 MiB) written, each rounded down.
A = a_slice("p1", "a", 100 * MIB, 5 * MIB)  # 205
B = a_slice("p1", "b", 10 * MIB, MIB, MIB, MIB)  # 23
C = a_slice("p2", "c", None, 7 * MIB, 2 * MIB)  # 129
D = a_slice("p2", "d", 300 * MIB, 1)  # 600
E = a_slice("p2", "e", 50 * MIB, 4 * MIB, MIB)  # 105
SLICES = (A, B, C, D, E)
DAYS = (
    a_slice("2026/01/09", "a", 10 * MIB, MIB),
    a_slice("2026/01/10", "b", 10 * MIB, MIB),
    a_slice("2025/12/31", "c", 10 * MIB, MIB),
    a_slice("2026/1/2", "d", 10 * MIB, MIB),
    a_slice("2025/13/01", "e", 10 * MIB, MIB),
)
HIVE_DAYS = (
    a_slice("year=2026/month=01/day=09", "a", 10 * MIB, MIB),
    a_slice("year=2026/month=01/day=10/hour=05", "b", 10 * MIB, MIB),
    a_slice("year=2025/month=12/day=31", "c", 10 * MIB, MIB),
)
TARGET = "hoodie.compaction.target.io"
LOG_SIZE = "hoodie.compaction.logfile.size.threshold"
LOG_NUM = "hoodie.compaction.logfile.num.threshold"
NEWEST = "hoodie.compaction.daybased.target.partitions"


def plan(slices: tuple[FileSlice, ...], strategy: CompactionStrategyKind, **keys: int) -> CompactionProposal:
    options = compaction_options({name: str(value) for name, value in keys.items()})
    return plan_compaction(a_table(slices), replace(options, strategy=strategy), GIVEN)


def planned(proposal: CompactionProposal) -> str:
    return "".join(o.file_slice.file_group_id.file_id for o in proposal.operations)


# Expected operations in order, derived from the named classes of Hudi 1.2.0; 0.15.0 has the same rules except for DAY.
@pytest.mark.parametrize(
    ("strategy", "keys", "expected"),
    [
        # LogFileSizeBasedCompactionStrategy.compare: TOTAL_LOG_FILES_SIZE, descending; ties keep their order.
        (SIZE, {}, "caebd"),
        # Its filter: at least the threshold. The number of log files has no effect.
        (SIZE, {LOG_SIZE: 5 * MIB, LOG_NUM: 9}, "cae"),
        (SIZE, {LOG_SIZE: 5 * MIB + 1}, "c"),
        # BoundedIOCompactionStrategy: 129 + 205 reaches the bound of 205 with the second slice.
        (SIZE, {TARGET: 205}, "ca"),
        # The first slice is planned whatever it costs; a bound that is reached exactly ends the plan.
        (SIZE, {TARGET: 1}, "c"),
        (SIZE, {TARGET: 129}, "c"),
        (SIZE, {TARGET: 130}, "ca"),
        (SIZE, {TARGET: 130, LOG_SIZE: 3 * MIB}, "ca"),
        # LogFileNumBasedCompactionStrategy.compare: number of log files, descending; ties keep their order.
        (NUM, {}, "bcead"),
        (NUM, {LOG_NUM: 2, LOG_SIZE: 1 << 40}, "bce"),
        (NUM, {TARGET: 130, LOG_NUM: 2}, "bc"),
        # BoundedIOCompactionStrategy alone: the order of the listing, no threshold.
        (IO, {LOG_NUM: 9, LOG_SIZE: 1 << 40}, "abcde"),
        (IO, {TARGET: 205}, "a"),
        (IO, {TARGET: 206}, "ab"),
        # UnBoundedCompactionStrategy: everything in the order of the listing.
        (ALL, {TARGET: 1, LOG_NUM: 9, LOG_SIZE: 1 << 40}, "abcde"),
    ],
)
def test_operations_are_in_the_order_of_hudi(
    strategy: CompactionStrategyKind, keys: dict[str, int], expected: str
) -> None:
    assert planned(plan(SLICES, strategy, **keys)) == expected


# DayBasedCompactionStrategy.filterPartitionPaths: newest date first, the first partitions, then the bound.
@pytest.mark.parametrize(
    ("slices", "keys", "expected"),
    [
        (DAYS, {}, "badec"),  # as in Java, month 13 of 2025 is January 2026
        (DAYS, {NEWEST: 2}, "ba"),
        (DAYS, {NEWEST: 3, TARGET: 22}, "ba"),
        (HIVE_DAYS, {NEWEST: 2}, "ba"),
        (HIVE_DAYS, {}, "bac"),
    ],
)
def test_the_day_based_strategy_begins_with_the_newest_partition(
    slices: tuple[FileSlice, ...], keys: dict[str, int], expected: str
) -> None:
    assert planned(plan(slices, DAY, **keys)) == expected


def test_partitions_of_one_day_are_in_descending_order() -> None:
    hours = [a_slice(f"2026/01/01/{hour:02}", f"f{hour}", MIB, MIB) for hour in (3, 11, 7)]
    proposal = plan(tuple(hours), DAY)
    assert [o.file_slice.file_group_id.file_id for o in proposal.operations] == ["f11", "f7", "f3"]


@pytest.mark.parametrize("path", ["p1", "2026-01-01", "2026/01", "date=2026-01-01", "0000/01/01", ""])
def test_the_day_based_strategy_refuses_partitions_without_a_date(path: str) -> None:
    with pytest.raises(InvalidRequestError, match="partition"):
        plan((a_slice(path, "a", MIB, MIB),), DAY)


def test_slices_below_one_mebibyte_count_as_nothing_in_the_bound() -> None:
    tiny = tuple(a_slice("p", name, 1000, 10) for name in "abc")
    assert planned(plan(tiny, IO, **{TARGET: 1})) == "abc"


def test_the_reasons_name_the_option_that_left_a_slice_out() -> None:
    def reasons(strategy: CompactionStrategyKind, **keys: int) -> dict[str, str]:
        return {s.file_group_id.file_id: s.reason for s in plan(SLICES, strategy, **keys).skipped}

    assert reasons(SIZE, **{LOG_SIZE: 5 * MIB, TARGET: 129}) == {
        "a": f"no room in this plan: {TARGET}=129",
        "b": f"log files are smaller than {LOG_SIZE}={5 * MIB}",
        "d": f"log files are smaller than {LOG_SIZE}={5 * MIB}",
        "e": f"no room in this plan: {TARGET}=129",
    }
    assert reasons(NUM, **{LOG_NUM: 2}) == dict.fromkeys("ad", f"fewer log files than {LOG_NUM}=2")
    left = plan(DAYS, DAY, **{NEWEST: 4}).skipped
    assert [(s.reason, s.waits) for s in left] == [(f"partition is not among the newest 4 ({NEWEST})", False)]


@pytest.mark.parametrize(
    "name", ["CompositeCompactionStrategy", "PartitionRegexBasedCompactionStrategy", "com.example.Own", "A,B"]
)
def test_the_error_names_a_strategy_that_is_not_supported(name: str) -> None:
    with pytest.raises(InvalidRequestError, match=rf"hoodie.compaction.strategy={name.rpartition('.')[2]} "):
        compaction_options({"hoodie.compaction.strategy": name})


def test_with_a_ranking_by_benefit_slices_with_the_most_log_bytes_per_base_byte_come_first() -> None:
    # Log bytes per base byte: c has no base file, b 3/10, e 5/50, a 5/100, d almost 0.
    for strategy in (SIZE, NUM, IO, ALL):
        options = compaction(strategy=strategy, ranks_by_benefit=True)
        assert planned(plan_compaction(a_table(SLICES), options, GIVEN)) == "cbead"


def test_slices_below_the_minimum_ratio_wait_until_their_oldest_log_is_too_old() -> None:
    options = compaction(min_log_ratio=0.1, max_log_age_seconds=86_401)
    proposal = plan_compaction(a_table(SLICES), options, GIVEN)
    assert planned(proposal) == "ceb"
    assert {s.file_group_id.file_id for s in proposal.skipped} == {"a", "d"}
    for skipped in proposal.skipped:
        assert skipped.waits
        assert "hoodie.airflow.compaction.min.log.ratio=0.1" in skipped.reason
    # The log files are exactly one day old.
    overdue = replace(options, max_log_age_seconds=86_400)
    assert planned(plan_compaction(a_table(SLICES), overdue, GIVEN)) == "caebd"
    assert LOG_TIME < PLAN_TIME


def test_the_plan_ends_with_the_slice_that_reaches_the_expected_duration() -> None:
    # Bytes read and written: c 9 + 9 MiB, then a 105 + 100 MiB.
    options = compaction(max_task_seconds=18)
    measured = replace(GIVEN, bytes_per_second=float(MIB))
    bounded = plan_compaction(a_table(SLICES), options, measured)
    assert planned(bounded) == "c"
    assert (bounded.expected_task_seconds, bounded.is_measured) == (18.0, True)
    assert {s.reason for s in bounded.skipped} == {
        "no room in this plan: hoodie.airflow.compaction.max.task.seconds=18"
    }
    assert planned(plan_compaction(a_table(SLICES), replace(options, max_task_seconds=19), measured)) == "ca"
    unmeasured = plan_compaction(a_table(SLICES), replace(options, default_bytes_per_second=2 * MIB), GIVEN)
    assert planned(unmeasured) == "ca"
    assert (unmeasured.bytes_per_second, unmeasured.is_measured) == (2.0 * MIB, False)
