"""Find the file groups of a table that contain given record keys, through the record index of the metadata table."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    RECORD_INDEX,
    partition_of_record_index_id,
)
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.metadata_table import MetadataRecord, RecordLocation
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.metadata_table import completeness
from hudi_table_services.storage.metadata_table.base_files import open_base_file
from hudi_table_services.storage.metadata_table.checked_partition import (
    CheckedPartition,
    open_checked_partition,
)
from hudi_table_services.storage.metadata_table.log_changes import Keys
from hudi_table_services.storage.metadata_table.unusable import (
    Reason,
    UnusableError,
    UnusableMetadataTable,
    some,
    usable_or_reason,
)
from hudi_table_services.storage.stores.storage import Storage


@dataclass(frozen=True, slots=True)
class RecordIndexGroups:
    """Some file groups of the record index, with consecutive numbers. Drivers send them to Spark tasks."""

    _files: CheckedPartition

    @property
    def count(self) -> int:
        """Number of the file groups."""
        return len(self._files.slices)

    @property
    def size_bytes(self) -> int:
        """Total size of the base files and log files of the file groups."""
        bases = sum(s.base_file.size_bytes for s in self._files.slices if s.base_file is not None)
        return bases + self._files.reader.log_bytes

    def part(self, start: int, stop: int) -> "RecordIndexGroups":
        """The file groups at the positions from `start` to `stop` - 1."""
        return RecordIndexGroups(replace(self._files, slices=self._files.slices[start:stop]))

    def locate(
        self, keys: Sequence[frozenset[bytes]], enough: frozenset[FileGroupId] | None = None
    ) -> set[FileGroupId] | UnusableMetadataTable:
        """Return the file groups of the table in which the record index locates the keys, or why the index is unusable.

        Some of these file groups may not be live: after a write that replaced file groups, Hudi deletes only the keys
        that the write did not write again.

        The method returns early when it has found all file groups in `enough`. Damage in the rest of the files is then
        not noticed.

        Memory: the keys, and the log files of one file group. Equal records are decoded only once. Many records are
        equal, because a record does not contain its key, and a commit writes the same record for all keys of a file
        group.

        Args:
            keys: for each of these file groups, the keys that belong to it, as UTF-8.
            enough: the file groups in which the caller is interested; None means all.

        Raises:
            StorageError: a request failed for another reason than a missing file.
        """

        def read() -> set[FileGroupId]:
            pairs = zip(self._files.slices, keys, strict=True)
            located = (_located(self._files, file_slice, wanted) for file_slice, wanted in pairs if wanted)
            found: set[FileGroupId] = set()
            for group in chain.from_iterable(located):
                found.add(group)
                if enough is not None and len(found) >= len(enough) and enough <= found:
                    break
            return found

        return usable_or_reason(read)


def open_record_index(
    storage: Storage, config: TableConfig, timeline: Timeline, clock: Clock
) -> RecordIndexGroups | UnusableMetadataTable:
    """Open the record index in the state that the timeline of the table shows, or return why it cannot be used.

    A record index that lacks a key would lead to a duplicate row. So the index is refused for the same reasons as a
    listing (see `list_from_metadata_table`). It is also refused if a compaction merged a write that completed after the
    timeline was loaded: that write may have moved keys to file groups that the timeline does not show.

    Args:
        config: properties of the table. The caller may read them before or after the timeline.
        timeline: active timeline of the table. It must be loaded before this call.

    Raises:
        StorageError: a request failed for another reason than a missing file.
    """
    return usable_or_reason(lambda: _opened(storage, config, timeline, clock))


def open_partitioned_record_index(
    storage: Storage, config: TableConfig, timeline: Timeline, clock: Clock
) -> dict[str, RecordIndexGroups] | UnusableMetadataTable:
    """Open a partitioned record index. Map each partition of the table to the file groups of its keys.

    The arguments, the checks and the errors are those of `open_record_index`.
    """
    return usable_or_reason(lambda: _opened_by_partition(storage, config, timeline, clock))


def _opened(storage: Storage, config: TableConfig, timeline: Timeline, clock: Clock) -> RecordIndexGroups:
    found = _checked(storage, config, timeline, clock)
    if not found.slices:
        raise UnusableError(Reason.DAMAGED, f"`{RECORD_INDEX}` has no file group.")
    if any(_partition_of(each) is not None for each in found.slices):
        raise UnusableError(
            Reason.UNSUPPORTED, f"`{RECORD_INDEX}` has file groups for each partition of the table."
        )
    return RecordIndexGroups(found)


def _opened_by_partition(
    storage: Storage, config: TableConfig, timeline: Timeline, clock: Clock
) -> dict[str, RecordIndexGroups]:
    found = _checked(storage, config, timeline, clock)
    slices: dict[str, list[FileSlice]] = defaultdict(list)
    for each in found.slices:  # in the order of their numbers
        path = _partition_of(each)
        if path is None:
            raise UnusableError(
                Reason.UNSUPPORTED,
                f"`{RECORD_INDEX}` has file groups for the whole table, not for each partition.",
            )
        slices[path].append(each)
    return {path: RecordIndexGroups(_only(found, each)) for path, each in slices.items()}


def _checked(storage: Storage, config: TableConfig, timeline: Timeline, clock: Clock) -> CheckedPartition:
    found = open_checked_partition(storage, config, timeline, clock, RECORD_INDEX)
    merged = completeness.merged_later_instants(found.table, found.slices)
    if merged:
        raise UnusableError(
            Reason.CHANGED,
            f"A compaction merged changes that completed after this job read the timeline: {some(merged)}.",
        )
    return found.without_timelines()


def _only(index: CheckedPartition, slices: Sequence[FileSlice]) -> CheckedPartition:
    """Return the index with only these slices, so that a task does not receive the file names of all partitions."""
    ids = [each.file_group_id.file_id for each in slices]
    instants = {file_id: index.log_instants[file_id] for file_id in ids if file_id in index.log_instants}
    return replace(index, slices=tuple(slices), log_instants=instants)


def _partition_of(file_slice: FileSlice) -> str | None:
    return partition_of_record_index_id(file_slice.file_group_id.file_id)


def _located(index: CheckedPartition, file_slice: FileSlice, keys: frozenset[bytes]) -> Iterator[FileGroupId]:
    changes = index.changes_of(file_slice, Keys(keys))
    changed = (change.applied(key, None) for key, change in changes.by_key.items())
    yield from {_location(record) for record in changed if record is not None}
    unchanged = keys.difference(changes.by_key)
    if file_slice.base_file is not None and unchanged:
        yield from map(_location, _different_records(index, file_slice, unchanged))


def _different_records(
    index: CheckedPartition, file_slice: FileSlice, keys: frozenset[bytes]
) -> Iterator[MetadataRecord]:
    """Yield each distinct record once. If the caller stops early, the rest of the file is not read."""
    with open_base_file(index.table, file_slice) as (reader, path), naming(path):
        seen: set[bytes] = set()
        for key, value in reader.find(keys):
            if value not in seen:
                seen.add(value)
                yield RecordFormat(reader.schema).decode((key, value))


def _location(record: MetadataRecord) -> FileGroupId:
    if not isinstance(record.payload, RecordLocation):
        raise MalformedMetadataError(
            f"`{RECORD_INDEX}` of the metadata table has a record {record.key[:80]!r} of type "
            f"{record.record_type.name}."
        )
    return FileGroupId(record.payload.partition_path, record.payload.file_id)
