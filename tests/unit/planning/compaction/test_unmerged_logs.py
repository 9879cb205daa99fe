"""Log files, their bytes and the time of the oldest one are measured for each slice and for the table."""

import math
from dataclasses import replace

import pytest

from hudi_table_services.model.compaction.slice_logs import ReadAmplification
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.instant import Action, InstantState
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.compaction.speed import measured_bytes_per_second
from hudi_table_services.planning.compaction.unmerged_logs import read_amplification
from support.merge_on_read import BASE_TIME, LOG_TIME, a_slice, a_table, an_instant

T2, T3 = "20260102000000000", "20260103000000000"


def test_read_amplification_counts_the_log_files_of_all_slices() -> None:
    found = read_amplification(
        a_table((a_slice("q", "f3", 50), a_slice("p", "f2", 100, 7, 8), a_slice("p", "f1", None, 30)))
    )
    assert [s.file_slice.file_group_id.file_id for s in found.slices] == ["f1", "f2"]
    assert [(s.log_files, s.log_bytes, s.base_bytes) for s in found.slices] == [(1, 30, 0), (2, 15, 100)]
    assert [s.log_ratio for s in found.slices] == [math.inf, 0.15]
    assert [s.rewrite_bytes for s in found.slices] == [60, 215]
    assert (found.log_files, found.log_bytes, found.base_bytes_total) == (3, 45, 150)
    assert (found.slices_total, found.log_ratio, found.oldest_log) == (3, 0.3, LOG_TIME)


def test_a_table_without_log_files_has_no_amplification() -> None:
    found = read_amplification(a_table((a_slice("p", "f", 50),)))
    assert (found.log_files, found.log_ratio, found.oldest_log) == (0, 0.0, None)
    assert ReadAmplification().log_ratio == 0.0


def test_a_table_with_log_files_only_has_an_infinite_ratio() -> None:
    assert read_amplification(a_table((a_slice("p", "f", None, 5),))).log_ratio == math.inf


def test_from_version_8_on_the_name_of_a_log_file_contains_its_time() -> None:
    file_slice = a_slice("p", "f", 50, 1, 1, log_time=T3)
    older = LogFile(file_id="f", instant_time=T2, version=1, write_token="0-1-0", size_bytes=1)
    table = a_table([replace(file_slice, log_files=(*file_slice.log_files, older))])
    (found,) = read_amplification(table).slices
    assert found.oldest_log == T2


@pytest.mark.parametrize(
    ("delta_commits", "base_bytes", "expected"),
    [
        ([BASE_TIME, T2, T3], 50, T2),  # the first delta commit after the base file
        ([BASE_TIME, T2, T3], None, BASE_TIME),  # the slice began with a log file
        ([T2, T3], 50, BASE_TIME),  # earlier delta commits may be archived
        ([], 50, BASE_TIME),
        ([BASE_TIME], 50, BASE_TIME),
    ],
)
def test_in_version_6_the_timeline_bounds_the_time_of_the_oldest_log_file(
    delta_commits: list[str], base_bytes: int | None, expected: str
) -> None:
    instants = [an_instant(time, Action.DELTA_COMMIT) for time in delta_commits]
    open_one = an_instant("20260101120000000", Action.DELTA_COMMIT, InstantState.INFLIGHT)
    table = a_table([a_slice("p", "f", base_bytes, 5, log_time=BASE_TIME)], *instants, open_one, version=6)
    (found,) = read_amplification(table).slices
    assert found.oldest_log == expected


def compacted(operation: WriteOperation, *stats: WriteStat) -> CommitMetadata:
    return CommitMetadata(operation_type=operation, partition_to_write_stats={"p": stats})


def a_stat(previous: str, written: int, logs: object, milliseconds: int) -> WriteStat:
    return WriteStat(
        file_id="f",
        partition_path="p",
        path="p/f",
        prev_commit=previous,
        file_size_bytes=written,
        total_scan_time_ms=milliseconds,
        total_upsert_time_ms=milliseconds,
        total_create_time_ms=milliseconds,
        extra={"totalLogSizeCompacted": logs},
    )


def test_the_speed_of_tasks_comes_from_the_write_stats_of_compactions() -> None:
    merged = a_stat(BASE_TIME, 1000, 400, 500)  # 2400 bytes in 1.5 s
    new = a_stat("null", 1000, 600, 500)  # 1600 bytes in 1.5 s
    untimed = a_stat(BASE_TIME, 10**9, 10**9, 0)
    commits = [
        compacted(WriteOperation.COMPACT, merged, untimed),
        compacted(WriteOperation.COMPACT, new),
        compacted(WriteOperation.UPSERT, a_stat(BASE_TIME, 10**9, 0, 1)),
    ]
    assert measured_bytes_per_second(commits) == pytest.approx(4000 / 3)


def test_without_timed_stats_the_speed_is_unknown() -> None:
    assert measured_bytes_per_second([]) is None
    assert measured_bytes_per_second([compacted(WriteOperation.COMPACT, a_stat(BASE_TIME, 1, 1, 0))]) is None
    assert (
        measured_bytes_per_second([compacted(WriteOperation.COMPACT, a_stat(BASE_TIME, 0, None, 5))]) is None
    )
