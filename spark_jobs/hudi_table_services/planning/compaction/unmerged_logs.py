"""Measure a table's read amplification: the log files of its latest slices, and the time of the oldest log file."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable

from hudi_table_services.model.compaction.slice_logs import ReadAmplification, SliceLogs
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_snapshot import TableSnapshot

Measure = Callable[[FileSlice], SliceLogs]
"""A function that measures the log files of a slice. The slice must have log files."""


def read_amplification(snapshot: TableSnapshot) -> ReadAmplification:
    """Measure the log files of all slices of the table, including slices that no plan may contain."""
    measure = log_measure(snapshot)
    slices = snapshot.all_slices
    return ReadAmplification(
        slices=tuple(measure(s) for s in in_table_order(slices) if s.log_files),
        slices_total=len(slices),
        base_bytes_total=sum(_known_size(s.base_file) for s in slices if s.base_file),
    )


def in_table_order(slices: Iterable[FileSlice]) -> list[FileSlice]:
    """Sort slices by partition path, then by file id."""
    return sorted(slices, key=lambda s: (s.file_group_id.partition_path, s.file_group_id.file_id))


def log_measure(snapshot: TableSnapshot) -> Measure:
    """Return a function that measures slices of this snapshot. Unknown file sizes count as 0, as in Hudi."""
    if snapshot.config.table_version.has_own_log_instants:
        return lambda s: _measured(s, min([log.instant_time for log in s.log_files]))
    delta_commits = [i.requested_time for i in snapshot.timeline.completed if i.action is Action.DELTA_COMMIT]
    return lambda s: _measured(s, _earliest_log(s, delta_commits))


def _measured(file_slice: FileSlice, oldest_log: str) -> SliceLogs:
    base = file_slice.base_file
    return SliceLogs(
        file_slice,
        _known_size(base) if base is not None else 0,
        sum([_known_size(log) for log in file_slice.log_files]),
        oldest_log,
    )


def _known_size(file: BaseFile | LogFile) -> int:
    size = file.size_bytes
    return size if size > 0 else 0


def _earliest_log(file_slice: FileSlice, delta_commits: list[str]) -> str:
    """Return the earliest time at which the oldest log file can have been written, for table version 6.

    If the slice has a base file, the result is the time of the first completed delta commit after the base instant of
    the slice. If the slice has no base file, the result is the time of the first completed delta commit at or after the
    base instant. The function returns the base instant if there is no such delta commit, or if archival may have
    archived this delta commit.
    """
    base_time = file_slice.base_instant_time
    if delta_commits and base_time < delta_commits[0]:
        return base_time  # archival may have removed earlier delta commits
    find = bisect_left if file_slice.base_file is None else bisect_right
    place = find(delta_commits, base_time)
    return delta_commits[place] if place < len(delta_commits) else base_time
