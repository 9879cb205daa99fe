"""Laws of every clustering plan, and the result of clustering a table repeatedly."""

from collections import Counter
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.clustering import (
    ClusteringInput,
    ClusteringOptions,
    ClusteringProposal,
    Layout,
    LayoutStrategy,
    PlanStrategyKind,
    SettledSlice,
)
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.clustering.plan import plan_clustering
from support.default_options import clustering_options

INSTANT = "20250101000000000"
PARTITIONS = ("", "a", "b/c")
LAYOUTS = (
    Layout(),
    Layout(columns=("x",)),
    Layout(columns=("x", "y"), strategy=LayoutStrategy.HILBERT),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All inputs of a plan."""

    snapshot: TableSnapshot
    options: ClusteringOptions
    known: ClusteringInput = field(default_factory=ClusteringInput)

    @property
    def proposal(self) -> ClusteringProposal:
        return plan_clustering(self.snapshot, self.options, self.known)


def a_slice(path: str, file_id: str, size: int, logs: tuple[int, ...] = ()) -> FileSlice:
    return FileSlice(
        file_group_id=FileGroupId(path, file_id),
        base_instant_time=INSTANT,
        base_file=BaseFile(file_id=file_id, write_token="0-1-0", instant_time=INSTANT, size_bytes=size),
        log_files=tuple(
            LogFile(file_id=file_id, instant_time=INSTANT, version=v + 1, size_bytes=log)
            for v, log in enumerate(logs)
        ),
    )


def a_table(slices: dict[str, tuple[FileSlice, ...]]) -> TableSnapshot:
    config = TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "6"})
    return TableSnapshot(config=config, timeline=Timeline(), file_slices=slices)


@st.composite
def options_of(draw: st.DrawFn, parity: bool) -> ClusteringOptions:
    limit = draw(st.integers(1, 400))
    layout = draw(st.sampled_from(LAYOUTS))
    kinds = [PlanStrategyKind.SIZE_BASED, PlanStrategyKind.SINGLE_FILE_SORT]
    return clustering_options(
        plan_strategy=draw(st.sampled_from(kinds if layout.is_sorted else kinds[:1])),
        layout=layout,
        small_file_limit_bytes=limit,
        target_file_max_bytes=draw(st.integers(limit, 3 * limit)),
        max_bytes_per_group=draw(st.integers(1, 6 * limit)),
        max_num_groups=draw(st.sampled_from([1, 2, 30])),
        single_group_enabled=draw(st.booleans()),
        size_tolerance=draw(st.sampled_from([0.0, 0.1, 0.5])),
        log_weight=draw(st.sampled_from([0.0, 0.35, 2.0])),
        slices_sort_by=draw(st.sampled_from([("SIZE",), ("INSTANT_TIME", "SIZE")])),
        parity=parity,
    )


@st.composite
def cases(draw: st.DrawFn, parity: bool | None = None) -> Case:
    options = draw(options_of(draw(st.booleans()) if parity is None else parity))
    slices: dict[str, tuple[FileSlice, ...]] = {}
    reserved: dict[FileGroupId, str] = {}
    settled: dict[FileGroupId, SettledSlice] = {}
    for path in draw(st.lists(st.sampled_from(PARTITIONS), unique=True, max_size=3)):
        drawn = draw(
            st.lists(
                st.tuples(
                    st.integers(-1, options.small_file_limit_bytes + 50),
                    st.sampled_from([(), (), (3, 40)]),
                    st.sampled_from(["nothing", "nothing", "reserved", "settled", "in order"]),
                ),
                max_size=12,
            )
        )
        slices[path] = tuple(a_slice(path, f"f{i}", size, logs) for i, (size, logs, _) in enumerate(drawn))
        for file_slice, (_, _, fate) in zip(slices[path], drawn, strict=True):
            if fate == "reserved":
                reserved[file_slice.file_group_id] = INSTANT
            elif fate != "nothing":
                target = options.target_file_max_bytes if fate == "settled" else None
                settled[file_slice.file_group_id] = SettledSlice(
                    layout=options.layout, target_file_max_bytes=target
                )
    known = ClusteringInput(
        settled=settled,
        overdue_partitions=tuple(draw(st.lists(st.sampled_from(PARTITIONS), unique=True, max_size=2))),
    )
    return Case(
        snapshot=replace(a_table(slices), reserved_file_groups=reserved), options=options, known=known
    )


@given(cases())
def test_every_slice_is_in_one_group_or_left_out_with_a_reason(case: Case) -> None:
    proposal = case.proposal
    grouped = Counter(s.file_group_id for g in proposal.groups for s in g.slices)
    assert set(grouped.values()) <= {1}
    for path in case.snapshot.partitions:
        left_out = [s for s in proposal.skipped if s.partition_path == path]
        assert all(s.reason and s.slices > 0 for s in left_out)
        assert len({(s.reason, s.is_overdue) for s in left_out}) == len(left_out)
        taken = sum(id_.partition_path == path for id_ in grouped)
        assert taken + sum(s.slices for s in left_out) == len(case.snapshot.slices_of(path))


@given(cases())
def test_groups_respect_the_limits(case: Case) -> None:
    proposal, options = case.proposal, case.options
    assert len(proposal.groups) <= options.max_num_groups
    for group in proposal.groups:
        assert {s.file_group_id.partition_path for s in group.slices} == {group.partition_path}
        assert len(group.slices) == 1 or group.input_bytes <= options.max_bytes_per_group
        assert group.reason
    chosen = {s.file_group_id for g in proposal.groups for s in g.slices}
    assert chosen.isdisjoint(case.snapshot.reserved_file_groups)
    assert bool(proposal.reason) == (not proposal.groups)


@given(cases(parity=False))
def test_every_group_improves_files_that_are_not_already_clustered(case: Case) -> None:
    for group in case.proposal.groups:
        known = [case.known.settled.get(s.file_group_id) for s in group.slices]
        in_order = [k is not None and k.layout == case.options.layout for k in known]
        assert 1 <= group.output_files <= len(group.slices)
        better = case.options.layout.is_sorted and not all(in_order)
        assert group.files_removed > 0 or better
        if case.options.plan_strategy is PlanStrategyKind.SIZE_BASED:
            target = case.options.target_file_max_bytes
            assert any(k is None or k.target_file_max_bytes != target for k in known)


@given(cases(), st.randoms(use_true_random=False))
def test_the_plan_does_not_depend_on_the_order_of_the_input(case: Case, random: object) -> None:
    def shuffled(items: tuple[object, ...]) -> tuple[object, ...]:
        mixed = list(items)
        random.shuffle(mixed)  # type: ignore[attr-defined]
        return tuple(mixed)

    slices = case.snapshot.file_slices
    mixed = replace(
        case,
        snapshot=replace(
            case.snapshot, file_slices={path: shuffled(slices[path]) for path in shuffled(tuple(slices))}
        ),
        known=replace(
            case.known,
            settled=dict(shuffled(tuple(case.known.settled.items()))),
            overdue_partitions=shuffled(case.known.overdue_partitions),
        ),
    )
    assert mixed.proposal == case.proposal


def files_after(proposal: ClusteringProposal, slices: int) -> int:
    return slices - sum(g.files_removed for g in proposal.groups)


@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=40),
    st.integers(100, 400),
    st.integers(0, 600),
    st.integers(50, 2_000),
    st.booleans(),
)
def test_there_are_never_more_files_than_with_hudis_groups(
    sizes: list[int], limit: int, above: int, cap: int, single_group: bool
) -> None:
    table = a_table({"": tuple(a_slice("", f"f{i:02}", size) for i, size in enumerate(sizes))})
    options = clustering_options(
        small_file_limit_bytes=limit,
        target_file_max_bytes=limit + above,
        max_bytes_per_group=cap,
        max_num_groups=100,
        single_group_enabled=single_group,
    )
    ours, theirs = (
        plan_clustering(table, replace(options, parity=parity), ClusteringInput()) for parity in (False, True)
    )
    assert files_after(ours, len(sizes)) <= files_after(theirs, len(sizes))


def executed(case: Case, shrink: float, round_: int) -> Case:
    """The table after every group was written as planned, with files `shrink` times as large."""
    options, proposal = case.options, case.proposal
    rewritten = {s.file_group_id for g in proposal.groups for s in g.slices}
    slices = {
        path: [s for s in case.snapshot.slices_of(path) if s.file_group_id not in rewritten]
        for path in case.snapshot.file_slices
    }
    settled = {k: v for k, v in case.known.settled.items() if k not in rewritten}
    left = SettledSlice(layout=options.layout, target_file_max_bytes=options.target_file_max_bytes)
    for number, group in enumerate(proposal.groups):
        for part in range(group.output_files):
            size = int(group.input_bytes * shrink / group.output_files)
            written = a_slice(group.partition_path, f"r{round_}-{number}-{part}", size)
            slices[group.partition_path].append(written)
            settled[written.file_group_id] = left
    return replace(
        case,
        snapshot=replace(case.snapshot, file_slices={p: tuple(s) for p, s in slices.items()}),
        known=replace(case.known, settled=settled, overdue_partitions=proposal.overdue_partitions),
    )


@given(cases(parity=False), st.integers(2, 5), st.integers(2, 5), st.floats(0.6, 1.1))
def test_already_clustered_files_are_not_rewritten(
    case: Case, limits: int, targets: int, shrink: float
) -> None:
    limit = case.options.small_file_limit_bytes
    target = 2 * limit + limits
    options = replace(
        case.options,
        target_file_max_bytes=target,
        max_bytes_per_group=max(2 * limit, targets * target - (targets > 2)),
        max_num_groups=100,
    )
    assert executed(replace(case, options=options), shrink, 0).proposal.groups == ()


@given(cases(parity=False), st.floats(0.6, 1.1))
def test_repeated_clustering_ends(case: Case, shrink: float) -> None:
    unsettled = len(case.snapshot.all_slices) - sum(
        k.target_file_max_bytes is not None for k in case.known.settled.values()
    )
    rounds = 0
    while case.proposal.groups:
        before = len(case.snapshot.all_slices)
        case = executed(case, shrink, rounds)
        rounds += 1
        assert len(case.snapshot.all_slices) <= before
        # Each round clusters some files. After a round with room for all groups, the next rounds have little work.
        assert rounds <= unsettled
        if case.options.max_num_groups == 30:
            assert rounds <= 3
