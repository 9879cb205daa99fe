"""Laws of every compaction plan."""

import random
import sys
import tracemalloc
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.hudi_format.table_service_plans import decode_compaction_plan, encode_compaction_plan
from hudi_table_services.model.compaction.compaction_proposal import CompactionInput, CompactionProposal
from hudi_table_services.model.compaction.compaction_settings import CompactionOptions, CompactionStrategyKind
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, InstantState
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.planning.compaction.planner import plan_compaction
from hudi_table_services.planning.compaction.stored_plan import stored_compaction_plan
from support.merge_on_read import LOG_TIME, MIB, PLAN_TIME, a_slice, a_table, an_instant, compaction

OPEN = "20260102120000000"
PARTITIONS = ("2026/01/01", "2026/01/02/05", "year=2025/month=12/day=31")
LOG_TIMES = ("20260101000000001", LOG_TIME, "20260102235959999")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All inputs of a plan."""

    snapshot: TableSnapshot
    options: CompactionOptions
    known: CompactionInput

    @property
    def proposal(self) -> CompactionProposal:
        return plan_compaction(self.snapshot, self.options, self.known)


@st.composite
def options_of(draw: st.DrawFn) -> CompactionOptions:
    return compaction(
        strategy=draw(st.sampled_from(CompactionStrategyKind)),
        target_io_mb=draw(st.sampled_from([1, 50, 400, 512_000])),
        min_log_bytes=draw(st.sampled_from([0, 0, 3 * MIB])),
        min_log_files=draw(st.sampled_from([0, 0, 2])),
        target_partitions=draw(st.sampled_from([1, 2, 10])),
        partition_pattern=draw(st.sampled_from(["", "", "2026", "no"])),
        selected_partitions=draw(st.sampled_from([(), (), PARTITIONS[:2], ("unknown",)])),
        ranks_by_benefit=draw(st.booleans()),
        min_log_ratio=draw(st.sampled_from([0.0, 0.0, 0.1, 5.0])),
        max_log_age_seconds=draw(st.sampled_from([1, 86_400, 1 << 40])),
        max_task_seconds=draw(st.sampled_from([0, 0, 5, 60])),
        default_bytes_per_second=MIB,
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes = st.sampled_from([None, -1, 0, 10, MIB, 30 * MIB, 200 * MIB])
    logs = st.lists(st.sampled_from([-1, 0, 1, MIB, 3 * MIB, 40 * MIB]), max_size=3)
    slices = []
    for path in PARTITIONS:
        drawn = draw(st.lists(st.tuples(sizes, logs, st.sampled_from(LOG_TIMES)), max_size=6))
        for number, (base, log_sizes, log_time) in enumerate(drawn):
            if base is not None or log_sizes:
                slices.append(a_slice(path, f"f{number}", base, *log_sizes, log_time=log_time))
    groups = [s.file_group_id for s in slices]
    some = st.lists(st.sampled_from(groups), max_size=3) if groups else st.just([])
    pending = an_instant(OPEN, Action.COMPACTION, InstantState.REQUESTED)
    snapshot = a_table(
        slices,
        an_instant(LOG_TIME, Action.DELTA_COMMIT),
        pending,
        version=draw(st.sampled_from([6, 8, 9])),
        reserved=dict.fromkeys(draw(some), OPEN),
    )
    known = CompactionInput(
        instant_time=PLAN_TIME,
        open_file_groups=dict.fromkeys(draw(some), OPEN),
        unknown_delta_commits=draw(st.sampled_from([(), (), (), (OPEN,)])),
        bytes_per_second=draw(st.sampled_from([None, 10.0 * MIB])),
    )
    return Case(snapshot=snapshot, options=draw(options_of()), known=known)


def planned(proposal: CompactionProposal) -> list[FileGroupId]:
    return [o.file_slice.file_group_id for o in proposal.operations]


@given(cases())
def test_every_slice_with_log_files_is_either_planned_or_skipped_with_a_reason(case: Case) -> None:
    proposal = case.proposal
    expected = Counter(s.file_group_id for s in case.snapshot.all_slices if s.log_files)
    assert Counter([*planned(proposal), *(s.file_group_id for s in proposal.skipped)]) == expected
    assert all(s.reason for s in proposal.skipped)
    assert bool(proposal.reason) is not bool(proposal.operations)


@given(cases())
def test_a_plan_contains_no_excluded_file_group(case: Case) -> None:
    excluded = set(case.snapshot.reserved_file_groups)
    if case.snapshot.config.table_version == 6:
        excluded |= set(case.known.open_file_groups)
        if case.known.unknown_delta_commits:
            excluded |= {s.file_group_id for s in case.snapshot.all_slices}
    assert excluded.isdisjoint(planned(case.proposal))
    for operation in case.proposal.operations:
        assert operation.file_slice.size_bytes >= 0
        path = operation.file_slice.file_group_id.partition_path
        assert not case.options.selected_partitions or path in case.options.selected_partitions
        assert case.options.partition_pattern in path


@given(cases())
def test_only_the_last_slice_of_a_plan_reaches_a_bound(case: Case) -> None:
    proposal, options = case.proposal, case.options
    metrics = [o.metrics for o in stored_compaction_plan(proposal, options).operations[:-1]]
    if options.strategy is not CompactionStrategyKind.UNBOUNDED and metrics:
        assert sum(m["TOTAL_IO_MB"] for m in metrics) < options.target_io_mb
    if options.max_task_seconds and proposal.operations:
        before_last = sum(o.rewrite_bytes for o in proposal.operations[:-1])
        assert before_last == 0 or before_last / proposal.bytes_per_second < options.max_task_seconds


@given(cases())
def test_slices_wait_for_room_only_if_the_plan_reaches_a_bound(case: Case) -> None:
    proposal, options = case.proposal, case.options
    if not any("no room" in s.reason for s in proposal.skipped):
        return
    total = sum(m.metrics["TOTAL_IO_MB"] for m in stored_compaction_plan(proposal, options).operations)
    reaches_io = options.strategy is not CompactionStrategyKind.UNBOUNDED and total >= options.target_io_mb
    assert reaches_io or proposal.expected_task_seconds >= options.max_task_seconds > 0


@given(cases())
def test_slices_below_a_threshold_are_not_planned(case: Case) -> None:
    options = case.options
    for operation in case.proposal.operations:
        if options.strategy is CompactionStrategyKind.LOG_FILE_SIZE:
            assert operation.log_bytes >= options.min_log_bytes
        if options.strategy is CompactionStrategyKind.LOG_FILE_NUM:
            assert operation.log_files >= options.min_log_files


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_the_inputs_does_not_change_the_plan(case: Case, shuffled: random.Random) -> None:
    slices = list(case.snapshot.all_slices)
    shuffled.shuffle(slices)
    by_path: dict[str, tuple[FileSlice, ...]] = {}
    for each in slices:
        by_path[each.file_group_id.partition_path] = (
            *by_path.get(each.file_group_id.partition_path, ()),
            each,
        )
    other = plan_compaction(replace(case.snapshot, file_slices=by_path), case.options, case.known)
    assert other == case.proposal


@given(cases())
def test_a_stored_plan_survives_encoding_and_names_each_file_once(case: Case) -> None:
    plan = stored_compaction_plan(case.proposal, case.options)
    assert decode_compaction_plan(encode_compaction_plan(plan)) == plan
    for operation, source in zip(plan.operations, case.proposal.operations, strict=True):
        parsed = {LogFile.from_file_name(name) for name in operation.delta_file_paths}
        assert parsed == {log._replace(size_bytes=-1) for log in source.file_slice.log_files}
    assert set(plan.missing_schedule_partitions) == {
        s.file_group_id.partition_path for s in case.proposal.skipped if s.waits
    }


def a_large_table(slices: int) -> TableSnapshot:
    paths = [f"2026/{1 + p // 28 % 12:02}/{1 + p % 28:02}" for p in range(100)]
    each = slices // len(paths)
    by_path = {
        path: tuple(
            a_slice(path, f"{p:04}-{i:06}-0", (i * 7_919) % 200 * MIB, i % 13 + 1, i % 7 + 1, MIB)
            for i in range(each)
        )
        for p, path in enumerate(paths)
    }
    return replace(a_table(()), file_slices=by_path)


LARGE = compaction(target_io_mb=1 << 40, ranks_by_benefit=True, min_log_ratio=0.01, max_log_age_seconds=1)


def test_the_work_of_a_plan_grows_with_the_number_of_slices() -> None:
    """A plan of ten times as many slices makes about ten times as many function calls."""
    few, many = (calls_of_a_plan(slices) for slices in (1_000, 10_000))
    assert many < 11 * few


def calls_of_a_plan(slices: int) -> int:
    table, calls = a_large_table(slices), 0

    def count(_frame: Any, _event: str, _argument: Any) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        proposal = plan_compaction(table, LARGE, CompactionInput(instant_time=PLAN_TIME))
        plan = stored_compaction_plan(proposal, LARGE)
    finally:
        sys.setprofile(None)
    assert len(plan.operations) == slices
    return calls


def test_the_memory_for_a_hundred_thousand_slices_stays_below_500_mib() -> None:
    slices = 500
    tracemalloc.start()
    try:
        table = a_large_table(slices)
        proposal = plan_compaction(table, LARGE, CompactionInput(instant_time=PLAN_TIME))
        plan = stored_compaction_plan(proposal, LARGE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(plan.operations) == slices
    assert peak / slices * 100_000 < 500 * MIB
