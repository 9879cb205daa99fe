"""Plans for tables with a bucket index: the number of the bucket alone determines the file group of a row."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.file_sizing import (
    BucketKind,
    FileSizingPlan,
    PartitionWorkload,
    UpdateWorkload,
    Workload,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.file_sizing.index_buckets import plan_index_buckets
from support.default_options import file_sizing_options

TIME = "20260101000000000"
counts = st.dictionaries(st.integers(0, 9), st.integers(0, 1000), max_size=10)


def a_snapshot(
    buckets: Mapping[str, set[int]], clustered: Mapping[FileGroupId, str] | None = None
) -> TableSnapshot:
    slices = {
        path: tuple(a_slice(path, number) for number in sorted(numbers)) for path, numbers in buckets.items()
    }
    config = TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "6"})
    return TableSnapshot(
        config=config, timeline=Timeline(), file_slices=slices, reserved_file_groups=clustered or {}
    )


def group(path: str, number: int) -> FileGroupId:
    return FileGroupId(path, f"{number:08d}-0")


def a_slice(path: str, number: int) -> FileSlice:
    id_ = group(path, number)
    base = BaseFile(file_id=id_.file_id, write_token="0-0-0", instant_time=TIME, size_bytes=1000)
    return FileSlice(file_group_id=id_, base_instant_time=TIME, base_file=base)


def plan(snapshot: TableSnapshot, *partitions: PartitionWorkload) -> FileSizingPlan:
    numbers = {s.file_group_id: int(s.file_group_id.file_id[:8]) for s in snapshot.all_slices}
    workload = Workload(partitions=partitions, batch_record_size=50.0)
    return plan_index_buckets(snapshot, workload, (), file_sizing_options(), numbers)


def workload(path: str, inserts: Mapping[int, int], updates: Mapping[int, int]) -> PartitionWorkload:
    return PartitionWorkload(
        partition_path=path,
        insert_count=sum(inserts.values()),
        index_buckets=inserts,
        updates=tuple(
            UpdateWorkload(file_id=group(path, number).file_id, update_count=count)
            for number, count in sorted(updates.items())
        ),
    )


@given(st.sets(st.integers(0, 9)), counts, counts)
def test_every_row_goes_to_the_file_group_of_its_bucket(
    stored: set[int], inserts: dict[int, int], updates: dict[int, int]
) -> None:
    updates = {number: count for number, count in updates.items() if number in stored}
    (sizing,) = plan(a_snapshot({"a": stored, "b": {1}}), workload("a", inserts, updates)).partitions
    planned = {bucket.index_bucket: bucket for bucket in sizing.buckets}
    assert len(planned) == len(sizing.buckets)
    touched = {n for n, count in [*inserts.items(), *updates.items()] if count}
    assert planned.keys() == touched
    for number, bucket in planned.items():
        assert number is not None
        assert (bucket.insert_count, bucket.update_count) == (inserts.get(number, 0), updates.get(number, 0))
        if number in stored:
            assert (bucket.kind, bucket.file_id) == (BucketKind.UPDATE, group("a", number).file_id)
        else:
            assert (bucket.kind, bucket.file_id) == (BucketKind.INSERT, None)
    new = [bucket.insert_count for bucket in sizing.new_buckets]
    assert new == sorted(new, reverse=True)
    assert sizing.skipped == ()


def test_partitions_are_planned_one_by_one_in_order() -> None:
    snapshot = a_snapshot({"a": {1}, "b": {2}})
    found = plan(snapshot, workload("b", {1: 3, 2: 4}, {}), workload("a", {1: 5, 2: 6}, {}))
    named = [(b.partition_path, b.index_bucket, b.kind.value, b.insert_count) for b in found.buckets]
    assert named == [
        ("a", 1, "UPDATE", 5),
        ("a", 2, "INSERT", 6),
        ("b", 2, "UPDATE", 4),
        ("b", 1, "INSERT", 3),
    ]


def test_new_rows_of_a_file_group_in_a_pending_clustering_are_refused() -> None:
    snapshot = a_snapshot({"a": {1}}, {group("a", 1): "20260102000000000"})
    with pytest.raises(FileGroupConflictError, match="20260102000000000"):
        plan(snapshot, workload("a", {1: 1}, {}))
    assert plan(snapshot, workload("a", {2: 1}, {})).insert_count == 1
