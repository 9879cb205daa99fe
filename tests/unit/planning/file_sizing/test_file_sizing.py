"""File sizing by example: each decision separately, and the founding example, with which this project began."""

import pytest

from hudi_table_services.errors import FileGroupConflictError, InvalidRequestError
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.file_sizing import (
    BucketKind,
    FileSample,
    FileSizingOptions,
    FileSizingPlan,
    PartitionWorkload,
    RecordSizeSource,
    UpdateWorkload,
    Workload,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.file_sizing.file_sizing import plan_file_sizing
from support.default_options import file_sizing_options

INSTANT = "20250101000000000"
PLAN_INSTANT = "20250102000000000"
MB = 1_000_000
MIB = 1 << 20
FOUNDING_SIZES = {"File_1": 40, "File_2": 80, "File_3": 90, "File_4": 130, "File_5": 105}


def a_slice(file_id: str, size_bytes: int, partition: str = "p", logs: int = 0) -> FileSlice:
    return FileSlice(
        file_group_id=FileGroupId(partition, file_id),
        base_instant_time=INSTANT,
        base_file=BaseFile(file_id=file_id, write_token="0-1-0", instant_time=INSTANT, size_bytes=size_bytes),
        log_files=tuple(
            LogFile(file_id=file_id, instant_time=INSTANT, version=v + 1, size_bytes=10) for v in range(logs)
        ),
    )


def a_table(*slices: FileSlice, reserved: tuple[str, ...] = ()) -> TableSnapshot:
    partitions = sorted({s.file_group_id.partition_path for s in slices})
    return TableSnapshot(
        config=TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "6"}),
        timeline=Timeline(),
        file_slices={p: tuple(s for s in slices if s.file_group_id.partition_path == p) for p in partitions},
        reserved_file_groups={FileGroupId("p", file_id): PLAN_INSTANT for file_id in reserved},
    )


def a_table_of(sizes: dict[str, int], reserved: tuple[str, ...] = ()) -> TableSnapshot:
    return a_table(*(a_slice(file_id, size) for file_id, size in sizes.items()), reserved=reserved)


def a_batch(
    inserts: int, updates: dict[str, int] | None = None, record_size: float | None = None
) -> Workload:
    tagged = tuple(UpdateWorkload(file_id=f, update_count=n) for f, n in (updates or {}).items())
    partition = PartitionWorkload(partition_path="p", insert_count=inserts, updates=tagged)
    return Workload(partitions=(partition,), batch_record_size=record_size)


def sizing(record_size: int = 1000, **changes: object) -> FileSizingOptions:
    values: dict[str, object] = {
        "max_file_size_bytes": 120 * MB,
        "small_file_limit_bytes": 100 * MB,
        "record_size_estimate_bytes": record_size,
        "record_size_estimate_is_explicit": True,
    }
    return file_sizing_options(**{**values, **changes})  # type: ignore[arg-type]


def padding(plan: FileSizingPlan) -> dict[str | None, int]:
    return {b.file_id: b.insert_count for b in plan.padded_buckets}


def new_files(plan: FileSizingPlan) -> list[int]:
    return [b.insert_count for b in plan.new_buckets]


def reasons(plan: FileSizingPlan) -> dict[str, str]:
    return {s.file_group_id.file_id: s.reason for s in plan.skipped}


@pytest.mark.parametrize("parity", [False, True], ids=["ours", "parity"])
@pytest.mark.parametrize("auto_split", [False, True], ids=["split-size", "auto-split"])
def test_the_founding_example_gets_exactly_the_expected_row_counts(parity: bool, auto_split: bool) -> None:
    table = a_table_of({file_id: size * MB for file_id, size in FOUNDING_SIZES.items()})
    options = sizing(parity=parity, insert_auto_split=auto_split, insert_split_size=120_000)
    plan = plan_file_sizing(table, a_batch(80_000 + 40_000 + 30_000 + 300_000), [], options)
    assert padding(plan) == {"File_1": 80_000, "File_2": 40_000, "File_3": 30_000}
    assert new_files(plan) == [120_000, 120_000, 60_000]
    assert [b.expected_size_bytes for b in plan.buckets] == [120 * MB] * 5 + [60 * MB]
    assert reasons(plan) == {
        "File_4": "at or above the small-file limit of 95.4 MiB",
        "File_5": "at or above the small-file limit of 95.4 MiB",
    }


@pytest.mark.parametrize("parity", [False, True], ids=["ours", "parity"])
@pytest.mark.parametrize(
    ("auto_split", "expected"),
    [(False, [120_000, 120_000, 60_000]), (True, [122_880, 122_880, 54_240])],
    ids=["split-size", "auto-split"],
)
def test_the_founding_example_is_planned_in_mebibytes_with_the_default_record_size(
    parity: bool, auto_split: bool, expected: list[int]
) -> None:
    table = a_table_of({file_id: size * MIB for file_id, size in FOUNDING_SIZES.items()})
    options = file_sizing_options(parity=parity, insert_auto_split=auto_split, insert_split_size=120_000)
    plan = plan_file_sizing(table, a_batch(453_600), [], options)
    assert padding(plan) == {"File_1": 81_920, "File_2": 40_960, "File_3": 30_720}
    assert new_files(plan) == expected
    assert plan.partitions[0].record_size.source is RecordSizeSource.DEFAULT_OPTION


def test_the_largest_small_file_is_padded_first() -> None:
    plan = plan_file_sizing(
        a_table_of({"a": 40 * MB, "b": 90 * MB, "c": 80 * MB}), a_batch(31_000), [], sizing()
    )
    assert padding(plan) == {"b": 30_000, "c": 1_000}
    assert reasons(plan) == {"a": "no inserts left for this file"}


def test_parity_pads_in_order_of_file_id() -> None:
    table = a_table_of({"a": 40 * MB, "b": 90 * MB, "c": 80 * MB})
    plan = plan_file_sizing(table, a_batch(81_000), [], sizing(parity=True))
    assert padding(plan) == {"a": 80_000, "b": 1_000}


def test_a_file_exactly_at_the_limit_is_not_small() -> None:
    table = a_table_of({"at": 100 * MB, "below": 100 * MB - 1})
    plan = plan_file_sizing(table, a_batch(10), [], sizing())
    assert padding(plan) == {"below": 10}
    assert reasons(plan) == {"at": "at or above the small-file limit of 95.4 MiB"}


def test_a_file_without_room_for_one_record_gets_no_inserts() -> None:
    options = sizing(max_file_size_bytes=100 * MB)
    plan = plan_file_sizing(a_table_of({"a": 100 * MB - 999}), a_batch(50_000), [], options)
    assert padding(plan) == {}
    assert new_files(plan) == [50_000]
    assert reasons(plan) == {"a": "no room for one more record"}


def test_growth_by_the_batchs_updates_is_deducted_from_the_free_space() -> None:
    workload = a_batch(100_000, updates={"a": 10_000}, record_size=1_500)
    plan = plan_file_sizing(a_table_of({"a": 90 * MB}), workload, [], sizing())
    # Each of the 10,000 updated rows grows by 500 bytes: the updates use 5 of the 30 MB of free space.
    bucket = plan.padded_buckets[0]
    assert (bucket.update_count, bucket.insert_count) == (10_000, 25_000)
    assert bucket.expected_size_bytes == 120 * MB


def test_a_file_gets_no_insert_if_the_updates_of_the_batch_will_fill_it() -> None:
    workload = a_batch(100, updates={"a": 60_000}, record_size=1_500)
    plan = plan_file_sizing(a_table_of({"a": 90 * MB}), workload, [], sizing())
    assert reasons(plan) == {"a": "no room after the batch's own updates"}
    assert [(b.kind, b.update_count, b.insert_count) for b in plan.buckets] == [
        (BucketKind.UPDATE, 60_000, 0),
        (BucketKind.INSERT, 0, 100),
    ]


def test_moved_rows_reduce_the_free_space_and_deletes_do_not_change_it() -> None:
    updates = (
        UpdateWorkload(file_id="a", update_count=30_000, inserted_by_move=10_000, delete_count=20_000),
    )
    partition = PartitionWorkload(partition_path="p", insert_count=100_000, updates=updates)
    workload = Workload(partitions=(partition,), batch_record_size=5_000)
    plan = plan_file_sizing(a_table_of({"a": 90 * MB}), workload, [], sizing())
    assert padding(plan) == {"a": 20_000}


def test_updates_with_smaller_rows_do_not_increase_the_free_space() -> None:
    workload = a_batch(100_000, updates={"a": 90_000}, record_size=10)
    assert padding(plan_file_sizing(a_table_of({"a": 90 * MB}), workload, [], sizing())) == {"a": 30_000}


@pytest.mark.parametrize("parity", [False, True], ids=["ours", "parity"])
def test_file_groups_of_a_pending_plan_get_no_inserts(parity: bool) -> None:
    table = a_table_of({"a": 40 * MB, "b": 40 * MB}, reserved=("a",))
    plan = plan_file_sizing(table, a_batch(100), [], sizing(parity=parity))
    assert padding(plan) == {"b": 100}
    assert reasons(plan)["a"] == f"in the pending plan {PLAN_INSTANT}"


@pytest.mark.parametrize("parity", [False, True], ids=["ours", "parity"])
def test_updates_of_a_file_group_of_a_pending_plan_are_refused(parity: bool) -> None:
    table = a_table_of({"a": 40 * MB}, reserved=("a",))
    with pytest.raises(FileGroupConflictError, match=f"p/a, which is in the pending plan {PLAN_INSTANT}"):
        plan_file_sizing(table, a_batch(0, updates={"a": 1}), [], sizing(parity=parity))


def test_updates_of_an_unknown_file_group_are_refused() -> None:
    with pytest.raises(FileGroupConflictError, match="p/gone, which the table no longer has"):
        plan_file_sizing(a_table_of({}), a_batch(0, updates={"gone": 1}), [], sizing())


@pytest.mark.parametrize("parity", [False, True], ids=["ours", "parity"])
def test_a_limit_of_zero_turns_padding_off(parity: bool) -> None:
    options = sizing(small_file_limit_bytes=0, parity=parity)
    plan = plan_file_sizing(a_table_of({"a": 1 * MB}), a_batch(10), [], options)
    assert (padding(plan), new_files(plan)) == ({}, [10])
    assert reasons(plan) == {"a": "padding is off (hoodie.parquet.small.file.limit is 0)"}


@pytest.mark.parametrize("parity", [False, True], ids=["ours", "parity"])
def test_operations_without_padding_only_open_new_files(parity: bool) -> None:
    table = a_table_of({"a": 1 * MB})
    plan = plan_file_sizing(table, a_batch(10), [], sizing(parity=parity), pad_small_files=False)
    assert (padding(plan), new_files(plan)) == ({}, [10])
    assert reasons(plan) == {"a": "this operation pads no small files"}


def test_slices_with_log_files_wait_for_compaction() -> None:
    log_only = FileSlice(
        file_group_id=FileGroupId("p", "logs"),
        base_instant_time=INSTANT,
        log_files=(LogFile(file_id="logs", instant_time=INSTANT, version=1, size_bytes=5),),
    )
    plan = plan_file_sizing(a_table(log_only, a_slice("both", 1 * MB, logs=1)), a_batch(10), [], sizing())
    assert reasons(plan) == {
        "both": "has log files, which a compaction has to merge before a write can pad the file group",
        "logs": "has only log files, no base file to pad",
    }


def test_a_remainder_of_one_row_does_not_open_a_file() -> None:
    plan = plan_file_sizing(a_table_of({}), a_batch(120_001), [], sizing())
    assert new_files(plan) == [120_001]


def test_parity_writes_a_remainder_of_one_row_to_a_separate_file() -> None:
    plan = plan_file_sizing(a_table_of({}), a_batch(120_001), [], sizing(parity=True))
    assert new_files(plan) == [120_000, 1]


def test_a_small_remainder_is_added_to_padded_files() -> None:
    table = a_table_of({"a": 90 * MB, "b": 80 * MB})
    plan = plan_file_sizing(table, a_batch(30_000 + 40_000 + 3), [], sizing())
    assert (padding(plan), new_files(plan)) == ({"a": 30_002, "b": 40_001}, [])


def test_without_tolerance_no_file_exceeds_the_max_size() -> None:
    plan = plan_file_sizing(a_table_of({}), a_batch(120_001), [], sizing(remainder_tolerance=0.0))
    assert new_files(plan) == [120_000, 1]


def test_rows_are_spread_evenly_if_every_file_becomes_large_enough() -> None:
    plan = plan_file_sizing(a_table_of({}), a_batch(5 * 120_000 + 70_000), [], sizing())
    assert new_files(plan) == [111_667] * 4 + [111_666] * 2


def test_a_batch_of_updates_writes_only_the_updated_file_groups() -> None:
    plan = plan_file_sizing(
        a_table_of({"a": 1 * MB, "b": 1 * MB}), a_batch(0, updates={"b": 7, "a": 0}), [], sizing()
    )
    assert [(b.file_id, b.update_count, b.insert_count) for b in plan.buckets] == [("b", 7, 0)]
    assert plan.skipped == ()


def test_an_empty_batch_gives_an_empty_plan() -> None:
    assert plan_file_sizing(a_table_of({"a": 1}), a_batch(0), [], sizing()).is_empty


def test_the_growing_footer_counts_as_part_of_the_file_size() -> None:
    options = sizing(footer_bytes_per_record=200.0, footer_max_records=10_000, footer_base_bytes=1 * MB)
    plan = plan_file_sizing(a_table_of({}), a_batch(200_000), [], options)
    # 1 MB + 10,000 x 200 bytes of footer leave 117 MB for rows of 1,000 bytes.
    assert plan.partitions[0].records_per_new_file == 117_000
    assert plan.new_buckets[0].expected_size_bytes == 120 * MB


def test_a_split_size_never_results_in_a_file_above_the_max_size() -> None:
    options = sizing(insert_auto_split=False, insert_split_size=500_000)
    assert new_files(plan_file_sizing(a_table_of({}), a_batch(240_000), [], options)) == [120_000] * 2


def test_each_record_that_is_larger_than_a_file_gets_its_own_file() -> None:
    options = sizing(record_size=1000, max_file_size_bytes=500, small_file_limit_bytes=100)
    assert new_files(plan_file_sizing(a_table_of({}), a_batch(3), [], options)) == [1, 1, 1]


def test_partitions_are_sized_by_their_own_records() -> None:
    samples = [
        FileSample(
            partition_path=path,
            file_id="f",
            instant_time=INSTANT,
            record_count=1_000,
            file_size_bytes=1_000 * width + 5_000,
            footer_size_bytes=5_000,
        )
        for path, width in (("narrow", 100), ("wide", 2_000))
    ]
    partitions = tuple(PartitionWorkload(partition_path=p, insert_count=1) for p in ("wide", "narrow"))
    plan = plan_file_sizing(a_table_of({}), Workload(partitions=partitions), samples, sizing())
    assert [(p.partition_path, p.records_per_new_file) for p in plan.partitions] == [
        ("narrow", 1_200_000),
        ("wide", 60_000),
    ]


def test_a_hundred_thousand_file_slices_are_planned_in_seconds() -> None:
    updates = tuple(UpdateWorkload(file_id=f"f{i:03}", update_count=5) for i in range(100))
    partitions = tuple(
        PartitionWorkload(
            partition_path=f"p{p:04}",
            insert_count=1_000_000,
            updates=updates,
        )
        for p in range(1_000)
    )
    table = TableSnapshot(
        config=TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "6"}),
        timeline=Timeline(),
        file_slices={
            f"p{p:04}": tuple(
                a_slice(f"f{i:03}", (i * 7_919 + p) % 130 * MB, partition=f"p{p:04}") for i in range(100)
            )
            for p in range(1_000)
        },
    )
    plan = plan_file_sizing(table, Workload(partitions=partitions), [], sizing())
    assert plan.insert_count == 1_000 * 1_000_000
    assert plan.update_count == 100_000 * 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"small_file_limit_bytes": 121 * MB}, "hoodie.parquet.small.file.limit .121000000. is above"),
        ({"max_file_size_bytes": 0, "small_file_limit_bytes": 0}, "hoodie.parquet.max.file.size is 0"),
        ({"small_file_limit_bytes": -1}, "hoodie.parquet.small.file.limit is -1"),
        ({"insert_split_size": 0}, "hoodie.copyonwrite.insert.split.size is 0"),
        ({"record_size_estimate_bytes": 0}, "hoodie.copyonwrite.record.size.estimate is 0"),
        ({"estimation_threshold": float("nan")}, "hoodie.record.size.estimation.threshold is nan"),
        ({"remainder_tolerance": -0.1}, "remainder_tolerance is -0.1"),
    ],
)
def test_options_out_of_bounds_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        sizing(**changes)


def test_a_workload_that_contradicts_itself_is_refused() -> None:
    partition = PartitionWorkload(partition_path="p", insert_count=1)
    with pytest.raises(InvalidRequestError, match="names a partition twice"):
        plan_file_sizing(a_table_of({}), Workload(partitions=(partition, partition)), [], sizing())
    with pytest.raises(InvalidRequestError, match="of p has a row count below 0"):
        plan_file_sizing(a_table_of({}), a_batch(-1), [], sizing())
    update = UpdateWorkload(file_id="a", update_count=1)
    twice = PartitionWorkload(partition_path="", insert_count=1, updates=(update, update))
    with pytest.raises(InvalidRequestError, match="of the table names a file group twice"):
        plan_file_sizing(a_table_of({}), Workload(partitions=(twice,)), [], sizing())
