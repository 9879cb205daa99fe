"""Find all file slices of a partition of a metadata table, for cleaning the metadata table."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.stores.storage import StoredObject


def slice_history(table: MetadataTable, partition: str) -> Mapping[FileGroupId, tuple[FileSlice, ...]]:
    """Return the visible file slices of each file group, oldest first.

    Files of instants that are not completed belong to no slice. Retried tasks can leave several base files of one
    instant. The slice then contains any one of them, as in Hudi (HoodieFileGroup.addBaseFile). Cleaning deletes only
    slices that newer slices have replaced, so all files of these slices are outdated. The next clean deletes the files
    that this clean leaves.
    """
    visibility = Visibility.of(table.timeline, has_own_log_instants=table.has_own_log_instants)
    groups: dict[str, _Files] = defaultdict(_Files)
    for stored in table.storage.list_folder(partition).files:
        _add(groups, stored, visibility)
    return {
        group: tuple(_slices(group, files, visibility))
        for file_id, files in sorted(groups.items())
        for group in [FileGroupId(partition, file_id)]
    }


@dataclass(slots=True)
class _Files:
    """Visible files of a file group; base files by their instants."""

    bases: dict[str, BaseFile] = field(default_factory=dict)
    logs: list[LogFile] = field(default_factory=list)


def _add(groups: dict[str, _Files], stored: StoredObject, visibility: Visibility) -> None:
    with suppress(
        MalformedFileNameError
    ):  # e.g. the metadata file of the partition, or a checksum file of Hadoop
        if stored.name.startswith("."):
            log = LogFile.from_file_name(stored.name, stored.size_bytes)
            if visibility.sees(log.instant_time):
                groups[log.file_id].logs.append(log)
            return
        base = BaseFile.from_file_name(stored.name, stored.size_bytes)
        if visibility.sees(base.instant_time):
            groups[base.file_id].bases[base.instant_time] = base


def _slices(group: FileGroupId, files: _Files, visibility: Visibility) -> Iterable[FileSlice]:
    """Yield one slice for each instant of a base file, and the slices that have only log files.

    Table version 6: the name of a log file contains the instant of its slice. Version 8 and later: the slice is the
    newest one whose instant is not later than the completion of the log file's instant.
    """
    logs: dict[str, list[LogFile]] = defaultdict(list)
    starts = sorted(files.bases)
    first = min((log.instant_time for log in files.logs), default="")
    for log in files.logs:
        logs[_slice_of(log, starts, first, visibility)].append(log)
    for time in sorted(files.bases.keys() | logs.keys()):
        yield FileSlice(
            file_group_id=group,
            base_instant_time=time,
            base_file=files.bases.get(time),
            log_files=tuple(sorted(logs[time])),
        )


def _slice_of(log: LogFile, starts: Sequence[str], first: str, visibility: Visibility) -> str:
    if not visibility.has_own_log_instants:
        return log.instant_time
    position = bisect_right(starts, visibility.visible_from(log.instant_time))
    return starts[position - 1] if position else first
