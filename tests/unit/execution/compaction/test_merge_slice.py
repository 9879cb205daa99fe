"""A compaction task merges one slice as real Hudi does, within its memory, and reuses files of earlier attempts."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.errors import InstantVanishedError, UnsupportedTableError
from hudi_table_services.execution.compaction.merge_slice import SliceTask, compact_slice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.markers import MarkerStore
from support.compaction.golden_slices import INSTANT, delete_settings, job_of, rows_in, table_of_cases
from support.compaction.written_table import (
    NORTH,
    Deleted,
    WrittenTable,
    a_row,
    new_storage,
    values,
)
from support.log_golden import ARCHIVES, log_table, plain_row
from support.log_merging.hudi_cases import HudiTable, every_table, hudi_tables

EACH_VERSION = pytest.mark.parametrize("version", ARCHIVES, ids=lambda version: f"v{version.value}")
META = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path")
TINY = 1 << 10
"""Memory with which every merge in these tests uses temporary files."""


@EACH_VERSION
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
@pytest.mark.parametrize("memory_bytes", [64 << 20, TINY], ids=["memory", "spilled"])
def test_a_slice_of_hudi_becomes_a_base_file_with_the_rows_that_hudi_returns(
    version: TableVersion, name: str, memory_bytes: int
) -> None:
    table = log_table(version, name)
    job = job_of(table.storage)
    job = replace(job, merging=replace(job.merging, memory_bytes=memory_bytes))
    written = compact_slice(job, SliceTask(number=0, file_slice=table.file_slice))
    rows = rows_in(table.storage, written.stat.path)
    expected = sorted(table.snapshot, key=lambda row: row["_hoodie_record_key"])
    assert [plain_row(row) for row in rows] == [plain_row_of(row) for row in expected]
    assert [[row[column] for column in META] for row in rows] == [
        [row[column] for column in META] for row in expected
    ]
    file_name = written.stat.path.rpartition("/")[2]
    assert {row["_hoodie_file_name"] for row in rows} == {file_name}
    assert written.spills == (memory_bytes == TINY)
    assert written.stat.num_writes == len(expected)


def plain_row_of(row: dict[str, object]) -> dict[str, object]:
    return {k: v for k, v in row.items() if not k.startswith("_hoodie_") or k == "_hoodie_is_deleted"}


@pytest.mark.parametrize("each", every_table(), ids=lambda each: f"{each.name}-{len(each.cases)}")
def test_a_slice_with_every_case_is_merged_as_hudi_merges_it(each: HudiTable) -> None:
    table, instants = table_of_cases(each)
    job = job_of(table.storage, delete_settings(each))
    (current,) = table.snapshot.all_slices
    written = compact_slice(job, SliceTask(number=0, file_slice=current))
    numbers = {instant.requested_time: str(n) for n, instant in enumerate(instants, start=1)}
    size = max(len(answer) for answer in each.snapshot.values() if answer)
    found = {
        row["_hoodie_record_key"]: [
            *(row[name] for name in ("ts", "ts2", "v", "s")),
            numbers[row["_hoodie_commit_time"]],
        ][:size]
        for row in rows_in(table.storage, written.stat.path)
    }
    expected = {k: [*a[:4], *map(str, a[4:])] for k, a in each.snapshot.items() if a is not None}
    assert found == expected


def test_the_golden_cases_cover_the_merge_rules() -> None:
    assert len({repr(each.rule) for each in every_table()}) > 8
    assert len(hudi_tables("merge_cases.json")) == 19


def a_table(version: TableVersion = TableVersion.V9) -> WrittenTable:
    table = WrittenTable(new_storage(), version)
    table.insert({NORTH: [a_row(f"k{number}", 5) for number in range(6)]})
    table.log({NORTH: [a_row("k0", 6), a_row("new", 1), Deleted("k1"), Deleted("gone")]})
    table.log({NORTH: [a_row("k0", 7), a_row("k2", 4), Deleted("k3", 9)]})
    return table


def a_task(table: WrittenTable) -> SliceTask:
    (current,) = table.snapshot.all_slices
    return SliceTask(number=3, file_slice=current)


@EACH_VERSION
def test_the_write_stat_has_the_facts_that_hudi_stores(version: TableVersion) -> None:
    table = a_table(version)
    task = a_task(table)
    stat = compact_slice(job_of(table.storage), task).stat
    base, logs = task.file_slice.base_file, task.file_slice.log_files
    assert base is not None
    assert (stat.prev_commit, stat.prev_base_file) == (
        base.instant_time,
        base.file_name if version is not TableVersion.V6 else None,
    )
    assert (stat.num_writes, stat.num_inserts, stat.num_deletes) == (5, 1, 2)
    assert stat.num_update_writes == 1  # a row with a smaller ordering value changes nothing
    assert stat.file_size_bytes == table.storage.size(stat.path)
    facts = {name: value for name, value in stat.extra.items() if name != "totalLogReadTimeMs"}
    assert facts == {
        "totalLogRecords": 7,
        "totalUpdatedRecordsCompacted": 6,
        "totalLogBlocks": 4,
        "totalLogFilesCompacted": 2,
        "totalLogSizeCompacted": sum(log.size_bytes for log in logs),
    }


def test_the_new_file_has_a_marker_and_a_footer_for_index_look_ups() -> None:
    table = a_table()
    stat = compact_slice(job_of(table.storage), a_task(table)).stat
    (marker,) = MarkerStore(table.storage, INSTANT).markers()
    assert (marker.data_file_path, marker.kind.value) == (stat.path, "MERGE")
    metadata = pq.ParquetFile(pa.BufferReader(table.storage.read(stat.path))).metadata.metadata
    footer = {key.decode(): value.decode() for key, value in metadata.items()}
    assert (footer["hoodie_min_record_key"], footer["hoodie_max_record_key"]) == ("k0", "new")
    assert "org.apache.hudi.bloomfilter" in footer
    assert "_hoodie_record_key" in footer["parquet.avro.schema"]


@EACH_VERSION
def test_a_slice_without_a_base_file_becomes_a_new_file(version: TableVersion) -> None:
    table = WrittenTable(new_storage(), version)
    table.log({NORTH: [a_row("a", 1), a_row("b", 1)]})
    table.log({NORTH: [a_row("b", 2), Deleted("a")]})
    stat = compact_slice(job_of(table.storage), a_task(table)).stat
    assert [row["s"] for row in rows_in(table.storage, stat.path)] == ["b-2"]
    assert (stat.prev_commit, stat.prev_base_file, stat.num_inserts) == ("null", None, 1)
    (marker,) = MarkerStore(table.storage, INSTANT).markers()
    assert marker.kind.value == "CREATE"


@EACH_VERSION
def test_a_slice_whose_rows_are_all_deleted_becomes_an_empty_file(version: TableVersion) -> None:
    table = WrittenTable(new_storage(), version)
    table.insert({NORTH: [a_row("a", 1)]})
    table.log({NORTH: [Deleted("a")]})
    written = compact_slice(job_of(table.storage), a_task(table))
    assert rows_in(table.storage, written.stat.path) == []
    assert (written.stat.num_writes, written.stat.num_deletes) == (0, 1)


def test_the_file_of_an_earlier_attempt_is_reused_if_its_record_fits_the_task() -> None:
    table = a_table()
    first = compact_slice(job_of(table.storage), a_task(table))
    again = compact_slice(job_of(table.storage), a_task(table))
    assert (again.is_reused, again.stat) == (True, first.stat)


@pytest.mark.parametrize(
    "damage", ["missing", "truncated", "garbage", "no record", "other rule", "other log"]
)
def test_a_missing_damaged_or_unsuitable_file_of_an_earlier_attempt_is_not_reused(damage: str) -> None:
    table = a_table()
    job, task = job_of(table.storage), a_task(table)
    first = compact_slice(job, task)
    match damage:
        case "missing":
            table.storage.delete(first.stat.path)
        case "truncated":
            table.storage.write(first.stat.path, table.storage.read(first.stat.path)[:-9])
        case "garbage":
            table.storage.write(first.stat.path, bytes(first.stat.file_size_bytes))
        case "no record":
            (record,) = table.storage.list_files(job.records_folder)
            table.storage.write(record.path, b"{")
        case "other rule":
            rule = replace(job.merging.rule, orders_base_rows=False)
            job = replace(job, merging=replace(job.merging, rule=rule))
        case "other log":
            task = replace(task, file_slice=replace(task.file_slice, log_files=task.file_slice.log_files[:1]))
    again = compact_slice(job, task)
    assert not again.is_reused
    assert table.storage.size(again.stat.path) == again.stat.file_size_bytes


def test_a_task_of_an_attempt_that_lost_the_plan_leaves_no_file() -> None:
    table = a_table()
    job, task = job_of(table.storage), a_task(table)
    table.storage.write(heartbeat_path(INSTANT), b"other/attempt")
    before = {stored.path for stored in table.storage.list_files()}
    with pytest.raises(InstantVanishedError):
        compact_slice(job, task)
    assert {stored.path for stored in table.storage.list_files()} == before


def test_the_error_about_a_delete_with_an_ordering_value_of_another_type_names_its_file() -> None:
    table = WrittenTable(
        new_storage(),
        more_properties={
            "hoodie.table.ordering.fields": "v",
            "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        },
    )
    table.insert({NORTH: [a_row("a", 1)]})
    table.log({NORTH: [Deleted("a", 7)]})
    with pytest.raises(UnsupportedTableError, match=r"\.log\.1.*'a'.*LongWrapper.*v \(double\)"):
        compact_slice(job_of(table.storage), a_task(table))


def test_parquet_blocks_and_avro_blocks_of_one_slice_are_merged() -> None:
    table = a_table()
    table.log({NORTH: [a_row("k5", 8)]}, as_parquet=True)
    stat = compact_slice(job_of(table.storage), a_task(table)).stat
    rows = {row["_hoodie_record_key"]: row["ts"] for row in rows_in(table.storage, stat.path)}
    assert rows == {"k0": 7, "k2": 5, "k4": 5, "k5": 8, "new": 1}
    assert values(rows_in(table.storage, stat.path))[0][2] == "k0-7"
