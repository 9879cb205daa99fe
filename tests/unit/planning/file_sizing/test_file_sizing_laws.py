"""Laws of every file sizing plan, for any table and batch."""

import math
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.file_sizing import (
    BucketKind,
    FileSample,
    FileSizingOptions,
    FileSizingPlan,
    PartitionWorkload,
    UpdateWorkload,
    Workload,
    WriteBucket,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.file_sizing.file_cost import FileCost
from hudi_table_services.planning.file_sizing.file_sizing import plan_file_sizing
from support.default_options import file_sizing_options

INSTANT = "20250101000000000"
MAX = 120_000
PARTITIONS = ("", "b/c")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All inputs of a plan."""

    snapshot: TableSnapshot
    workload: Workload
    samples: tuple[FileSample, ...]
    options: FileSizingOptions
    pad: bool = True

    @property
    def plan(self) -> FileSizingPlan:
        return plan_file_sizing(
            self.snapshot, self.workload, self.samples, self.options, pad_small_files=self.pad
        )


def a_slice(partition: str, file_id: str, size_bytes: int) -> FileSlice:
    base = BaseFile(file_id=file_id, write_token="0-1-0", instant_time=INSTANT, size_bytes=size_bytes)
    return FileSlice(file_group_id=FileGroupId(partition, file_id), base_instant_time=INSTANT, base_file=base)


def options_of() -> st.SearchStrategy[FileSizingOptions]:
    return st.builds(
        file_sizing_options,
        max_file_size_bytes=st.just(MAX),
        small_file_limit_bytes=st.sampled_from([0, 1, 60_000, 100_000, MAX]),
        insert_split_size=st.integers(1, 5_000),
        insert_auto_split=st.booleans(),
        record_size_estimate_bytes=st.sampled_from([1, 7, 100, 1_024, 200_000]),
        parity=st.booleans(),
        footer_bytes_per_record=st.sampled_from([0.0, 7.19]),
        footer_max_records=st.sampled_from([0, 100, 60_000]),
        footer_base_bytes=st.sampled_from([0, 3_000]),
        remainder_tolerance=st.sampled_from([0.0, 0.05]),
    )


@st.composite
def cases(draw: st.DrawFn, parity: bool | None = None) -> Case:
    options = draw(options_of())
    if parity is not None:
        options = replace(options, parity=parity)
    slices: dict[str, tuple[FileSlice, ...]] = {}
    reserved: dict[FileGroupId, str] = {}
    partitions = []
    samples: list[FileSample] = []
    for path in draw(st.lists(st.sampled_from(PARTITIONS), unique=True, max_size=2)):
        sizes = draw(st.lists(st.integers(0, 2 * MAX), max_size=4))
        slices[path] = tuple(a_slice(path, f"f{i}", size) for i, size in enumerate(sizes))
        updates = []
        for i, size in enumerate(sizes):
            fate = draw(st.sampled_from(["nothing", "reserved", "updated", "sampled"]))
            if fate == "reserved":
                reserved[FileGroupId(path, f"f{i}")] = INSTANT
            elif fate == "updated":
                updates.append(draw(updates_of(f"f{i}")))
            elif fate == "sampled":
                samples.append(draw(samples_of(path, f"f{i}", size)))
        partitions.append(
            PartitionWorkload(
                partition_path=path, insert_count=draw(st.integers(0, 20_000)), updates=tuple(updates)
            )
        )
    snapshot = TableSnapshot(
        config=TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "6"}),
        timeline=Timeline(),
        file_slices=slices,
        reserved_file_groups=reserved,
    )
    record_size = draw(st.none() | st.floats(1, 2_000))
    workload = Workload(partitions=tuple(partitions), batch_record_size=record_size)
    return Case(
        snapshot=snapshot, workload=workload, samples=tuple(samples), options=options, pad=draw(st.booleans())
    )


@st.composite
def updates_of(draw: st.DrawFn, file_id: str) -> UpdateWorkload:
    count, quarter = draw(st.integers(0, 500)), draw(st.integers(0, 3))
    return UpdateWorkload(
        file_id=file_id,
        update_count=count,
        inserted_by_move=count * quarter // 4,
        delete_count=count * (3 - quarter) // 8,
    )


@st.composite
def samples_of(draw: st.DrawFn, path: str, file_id: str, size: int) -> FileSample:
    return FileSample(
        partition_path=path,
        file_id=file_id,
        instant_time=INSTANT,
        record_count=draw(st.integers(0, 2_000)),
        file_size_bytes=size,
        footer_size_bytes=draw(st.integers(0, 10_000)),
    )


@given(cases())
def test_every_row_is_placed_exactly_once(case: Case) -> None:
    sizings = {p.partition_path: p for p in case.plan.partitions}
    assert sizings.keys() == {p.partition_path for p in case.workload.partitions}
    for partition in case.workload.partitions:
        buckets = sizings[partition.partition_path].buckets
        assert sum(b.insert_count for b in buckets) == partition.insert_count
        placed = {b.file_id: b.update_count for b in buckets if b.update_count}
        assert placed == {u.file_id: u.update_count for u in partition.updates if u.update_count}


@given(cases())
def test_every_bucket_has_rows_and_no_file_group_has_two_buckets(case: Case) -> None:
    buckets = case.plan.buckets
    assert all(b.update_count + b.insert_count > 0 for b in buckets)
    rewritten = [(b.partition_path, b.file_id) for b in buckets if b.kind is BucketKind.UPDATE]
    assert len(set(rewritten)) == len(rewritten)
    assert all((b.file_id is None) == (b.kind is BucketKind.INSERT) for b in buckets)


@given(cases(parity=False))
def test_no_file_exceeds_the_max_size_by_more_than_the_tolerance(case: Case) -> None:
    allowed = math.ceil(MAX * (1 + case.options.remainder_tolerance))
    for bucket in case.plan.buckets:
        if bucket.insert_count > 1:
            assert bucket.expected_size_bytes <= allowed


@given(cases(parity=True))
def test_in_parity_mode_only_a_new_file_exceeds_the_max_size_and_by_at_most_one_record(case: Case) -> None:
    plan = replace(case, options=replace(case.options, insert_auto_split=True)).plan
    for partition in plan.partitions:
        allowed = MAX + partition.record_size.bytes_per_record
        assert all(b.expected_size_bytes <= allowed for b in partition.buckets if b.insert_count)


@given(cases())
def test_reserved_file_groups_are_never_chosen(case: Case) -> None:
    chosen = {FileGroupId(b.partition_path, b.file_id) for b in case.plan.buckets if b.file_id is not None}
    assert chosen.isdisjoint(case.snapshot.reserved_file_groups)


@given(cases())
def test_only_small_files_are_padded_and_only_if_requested(case: Case) -> None:
    for bucket in case.plan.padded_buckets:
        assert case.pad
        assert bucket.current_size_bytes < case.options.small_file_limit_bytes


@given(cases())
def test_every_file_group_is_padded_or_left_out_with_a_reason(case: Case) -> None:
    for partition, sizing in zip(
        sorted(case.workload.partitions, key=lambda p: p.partition_path), case.plan.partitions, strict=True
    ):
        padded = [b.file_id for b in sizing.padded_buckets]
        left_out = [s.file_group_id.file_id for s in sizing.skipped]
        present = [s.file_group_id.file_id for s in case.snapshot.slices_of(partition.partition_path)]
        assert sorted(padded + left_out) == (sorted(present) if partition.insert_count else [])
        assert all(s.reason for s in sizing.skipped)


@given(cases(), st.randoms(use_true_random=False))
def test_the_plan_does_not_depend_on_the_order_of_the_input(case: Case, random: object) -> None:
    def shuffled(items: tuple[object, ...]) -> tuple[object, ...]:
        mixed = list(items)
        random.shuffle(mixed)  # type: ignore[attr-defined]
        return tuple(mixed)

    partitions = tuple(replace(p, updates=shuffled(p.updates)) for p in case.workload.partitions)
    mixed = replace(
        case,
        snapshot=replace(
            case.snapshot,
            file_slices={
                path: shuffled(case.snapshot.file_slices[path])
                for path in shuffled(tuple(case.snapshot.file_slices))
            },
        ),
        workload=replace(case.workload, partitions=shuffled(partitions)),
        samples=shuffled(case.samples),
    )
    assert mixed.plan == case.plan


@given(cases(parity=False))
def test_the_largest_small_files_are_padded_first(case: Case) -> None:
    for sizing in case.plan.partitions:
        waiting = [s.size_bytes for s in sizing.skipped if s.reason == "no inserts left for this file"]
        if waiting and sizing.padded_buckets:
            assert max(waiting) <= min(b.current_size_bytes for b in sizing.padded_buckets)
        if waiting:
            assert sizing.new_buckets == ()


@given(cases(parity=False))
def test_new_files_are_opened_only_if_the_padded_files_are_full(case: Case) -> None:
    for sizing in case.plan.partitions:
        cost = FileCost.of(sizing.record_size.bytes_per_record, case.options)
        for bucket in sizing.padded_buckets if sizing.new_buckets else ():
            rows = cost.records_in(bucket.current_size_bytes)
            one_more = cost.added_bytes(bucket.insert_count + 1, existing_records=rows)
            growth = bucket.expected_size_bytes - bucket.current_size_bytes
            growth -= cost.added_bytes(bucket.insert_count, existing_records=rows)
            assert bucket.current_size_bytes + growth + one_more > MAX


@given(st.integers(1, 300), st.integers(0, 50_000), st.sampled_from([0, 60_000, 100_000]))
def test_no_new_file_is_much_smaller_than_a_full_file(record_size: int, inserts: int, limit: int) -> None:
    options = file_sizing_options(
        max_file_size_bytes=MAX, small_file_limit_bytes=limit, record_size_estimate_bytes=record_size
    )
    plan = plan_file_sizing(_empty_table(), _inserts(inserts), [], options)
    sizes = [b.insert_count for b in plan.new_buckets]
    if len(sizes) > 1:
        assert min(sizes) >= plan.partitions[0].records_per_new_file // 20


@given(st.lists(st.integers(1, 8_000), min_size=1, max_size=12), st.sampled_from([10, 100, 333]))
def test_consecutive_batches_open_no_unnecessary_files(batches: list[int], record_size: int) -> None:
    options = file_sizing_options(
        max_file_size_bytes=MAX, small_file_limit_bytes=100_000, record_size_estimate_bytes=record_size
    )
    table = _empty_table()
    for inserts in batches:
        plan = plan_file_sizing(table, _inserts(inserts), [], options)
        small = [s for s in table.slices_of("") if s.size_bytes < options.small_file_limit_bytes]
        room = sum((MAX - s.size_bytes) // record_size for s in small)
        per_file = plan.partitions[0].records_per_new_file
        assert len(plan.new_buckets) <= math.ceil(max(inserts - room, 0) / per_file)
        table = _after(table, plan)
    # However the rows are divided into batches, at most one file of the table is small at the end.
    assert sum(s.size_bytes < options.small_file_limit_bytes for s in table.slices_of("")) <= 1


def _empty_table() -> TableSnapshot:
    config = TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "6"})
    return TableSnapshot(config=config, timeline=Timeline())


def _inserts(count: int) -> Workload:
    return Workload(partitions=(PartitionWorkload(partition_path="", insert_count=count),))


def _after(table: TableSnapshot, plan: FileSizingPlan) -> TableSnapshot:
    """The table after every file was written with its expected size."""
    slices = {s.file_group_id.file_id: s for s in table.slices_of("")}
    for number, bucket in enumerate(plan.buckets):
        file_id = _file_id(bucket, f"n{len(slices)}-{number}")
        slices[file_id] = a_slice("", file_id, bucket.expected_size_bytes)
    return replace(table, file_slices={"": tuple(slices.values())})


def _file_id(bucket: WriteBucket, new: str) -> str:
    return new if bucket.file_id is None else bucket.file_id
