"""Parity mode compared with a naive second implementation of Hudi 1.x's rules, and the record size in this mode."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.file_sizing import (
    CommitTotals,
    FileSizingOptions,
    PartitionWorkload,
    RecordSizeSource,
    UpdateWorkload,
    Workload,
)
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.file_sizing.file_sizing import plan_file_sizing
from hudi_table_services.planning.file_sizing.hudi_parity import commit_totals, hudi_record_size
from support.default_options import file_sizing_options

INSTANT = "20250101000000000"


def a_slice(file_id: str, size_bytes: int, has_log: bool = False) -> FileSlice:
    base = BaseFile(file_id=file_id, write_token="0-1-0", instant_time=INSTANT, size_bytes=size_bytes)
    log = LogFile(file_id=file_id, instant_time=INSTANT, version=1, size_bytes=1)
    return FileSlice(
        file_group_id=FileGroupId("p", file_id),
        base_instant_time=INSTANT,
        base_file=base,
        log_files=(log,) if has_log else (),
    )


def a_table(slices: list[FileSlice], table_type: str = "COPY_ON_WRITE") -> TableSnapshot:
    properties = {"hoodie.table.name": "t", "hoodie.table.version": "6", "hoodie.table.type": table_type}
    return TableSnapshot(
        config=TableConfig(properties), timeline=Timeline(), file_slices={"p": tuple(slices)}
    )


def naive_plan(
    sizes: list[int], updates: list[int], inserts: int, options: FileSizingOptions
) -> tuple[list[tuple[str, int, int]], list[int]]:
    """Assign the rows one by one, with Hudi's arithmetic: each insert goes to the first file with room."""
    average = options.record_size_estimate_bytes
    placed = {f"f{i}": 0 for i in range(len(sizes))}
    new: list[int] = []
    per_file = options.insert_split_size
    if options.insert_auto_split:
        per_file = -(-options.max_file_size_bytes // average)
    for _ in range(inserts):
        for i, size in enumerate(sizes):
            file_id = f"f{i}"
            is_small = size < options.small_file_limit_bytes
            if is_small and size + (placed[file_id] + 1) * average <= options.max_file_size_bytes:
                placed[file_id] += 1
                break
        else:
            if not new or new[-1] == per_file:
                new.append(0)
            new[-1] += 1
    rewritten = [
        (f"f{i}", updates[i], placed[f"f{i}"]) for i in range(len(sizes)) if updates[i] or placed[f"f{i}"]
    ]
    return rewritten, new


@given(
    st.lists(st.tuples(st.integers(0, 1_500), st.integers(0, 3)), max_size=6),
    st.integers(0, 120),
    st.builds(
        file_sizing_options,
        max_file_size_bytes=st.integers(1_000, 1_300),
        small_file_limit_bytes=st.integers(0, 1_000),
        insert_split_size=st.integers(1, 40),
        insert_auto_split=st.booleans(),
        record_size_estimate_bytes=st.integers(1, 1_500),
        parity=st.just(True),
        footer_bytes_per_record=st.just(7.19),
    ),
)
def test_a_parity_plan_equals_the_plan_of_a_naive_implementation(
    files: list[tuple[int, int]], inserts: int, options: FileSizingOptions
) -> None:
    sizes, updates = [f[0] for f in files], [f[1] for f in files]
    tagged = tuple(UpdateWorkload(file_id=f"f{i}", update_count=n) for i, n in enumerate(updates))
    partition = PartitionWorkload(partition_path="p", insert_count=inserts, updates=tagged)
    table = a_table([a_slice(f"f{i}", size) for i, size in enumerate(sizes)])
    plan = plan_file_sizing(table, Workload(partitions=(partition,), batch_record_size=9.0), [], options)
    rewritten, new = naive_plan(sizes, updates, inserts, options)
    assert [(b.file_id, b.update_count, b.insert_count) for b in plan.buckets if b.file_id] == rewritten
    assert [b.insert_count for b in plan.new_buckets] == new


def test_in_merge_on_read_tables_only_the_smallest_file_without_log_files_is_padded() -> None:
    table = a_table([a_slice("a", 30), a_slice("b", 20), a_slice("c", 10, has_log=True)], "MERGE_ON_READ")
    options = file_sizing_options(
        max_file_size_bytes=100, small_file_limit_bytes=50, record_size_estimate_bytes=10, parity=True
    )
    workload = Workload(partitions=(PartitionWorkload(partition_path="p", insert_count=9),))
    plan = plan_file_sizing(table, workload, [], options)
    assert [(b.file_id, b.insert_count) for b in plan.buckets] == [("b", 8), (None, 1)]
    assert {s.file_group_id.file_id: s.reason for s in plan.skipped} == {
        "a": "over hoodie.merge.small.file.group.candidates.limit",
        "c": "has log files, which a compaction has to merge before a write can pad the file group",
    }


def totals(day: int, size: int, records: int, action: Action = Action.COMMIT) -> CommitTotals:
    return CommitTotals(
        requested_time=f"202501{day:02}000000000", action=action, bytes_written=size, records_written=records
    )


THRESHOLD_OF_100 = file_sizing_options(small_file_limit_bytes=100, estimator_max_commits=3)


def test_the_record_size_is_the_average_of_the_latest_large_enough_commits_rounded_down() -> None:
    history = [
        totals(1, 999_999, 1),
        totals(2, 1_000, 10),
        totals(3, 100, 1),
        totals(4, 505, 4),
        totals(5, 888_888, 1, Action.REPLACE_COMMIT),
    ]
    found = hudi_record_size(history, THRESHOLD_OF_100)
    # Day 1 is older than the latest three commits. Day 3 is not above the threshold. Day 5 is a replacecommit.
    assert (found.bytes_per_record, found.sampled_files, found.sampled_records) == (1_505 // 14, 2, 14)
    assert found.source is RecordSizeSource.COMMIT_HISTORY


@pytest.mark.parametrize("history", [[], [totals(1, 100, 5)], [totals(1, 500, 0)]])
def test_without_a_large_enough_commit_the_configured_size_is_used(history: list[CommitTotals]) -> None:
    found = hudi_record_size(history, THRESHOLD_OF_100)
    assert (found.bytes_per_record, found.source) == (1024.0, RecordSizeSource.DEFAULT_OPTION)


def test_the_metadata_size_is_deducted_once_per_commit() -> None:
    options = file_sizing_options(small_file_limit_bytes=100, estimator_metadata_bytes=200)
    assert hudi_record_size([totals(1, 1_200, 10), totals(2, 200, 10)], options).bytes_per_record == 100.0


def test_more_rows_than_bytes_still_give_a_size_above_zero() -> None:
    assert hudi_record_size([totals(1, 500, 5_000)], THRESHOLD_OF_100).bytes_per_record == 1.0


def an_instant(action: Action) -> Instant:
    return Instant(requested_time=INSTANT, action=action, state=InstantState.COMPLETED)


def test_a_commit_has_one_total_and_a_deltacommit_has_one_total_per_base_file() -> None:
    stats = tuple(
        WriteStat(file_id=f, partition_path="p", path=f"p/{name}", num_writes=n, file_size_bytes=100 * n)
        for f, name, n in (
            ("a", "a_0-1-0_20250101000000000.parquet", 1),
            ("b", "b_0-1-0_20250101000000000.parquet", 2),
            ("c", ".c_20250101000000000.log.1_0-1-0", 4),
        )
    )
    metadata = CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats={"p": stats})
    of_commit = commit_totals(an_instant(Action.COMMIT), metadata)
    assert [(t.bytes_written, t.records_written) for t in of_commit] == [(700, 7)]
    of_delta = commit_totals(an_instant(Action.DELTA_COMMIT), metadata)
    assert [(t.bytes_written, t.records_written) for t in of_delta] == [(100, 1), (200, 2)]
    assert commit_totals(an_instant(Action.REPLACE_COMMIT), metadata) == ()


def test_parity_rounds_the_rows_of_a_new_file_up() -> None:
    options = file_sizing_options(
        max_file_size_bytes=1_000, small_file_limit_bytes=500, record_size_estimate_bytes=300, parity=True
    )
    workload = Workload(partitions=(PartitionWorkload(partition_path="p", insert_count=9),))
    plan = plan_file_sizing(a_table([]), workload, [], options)
    assert [b.insert_count for b in plan.buckets] == [4, 4, 1]
    assert plan.partitions[0].records_per_new_file == math.ceil(1_000 / 300)
