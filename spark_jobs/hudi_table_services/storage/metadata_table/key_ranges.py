"""Read the range of record keys of data files from the column statistics of a metadata table."""

from collections.abc import Iterable, Iterator, Mapping

from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS
from hudi_table_services.hudi_format.metadata_table.keys import column_stats_key, file_group_of
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import ColumnStats, MetadataRecord, StatKind, StatValue
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.metadata_table.checked_partition import (
    CheckedPartition,
    open_checked_partition,
)
from hudi_table_services.storage.metadata_table.unusable import UnusableMetadataTable, usable_or_reason
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage

KeyRange = tuple[str, str]
"""Smallest and greatest record key of a file."""

_RECORD_KEY = "_hoodie_record_key"
_FIRST_SURROGATE = "\ud800"


def key_ranges(
    storage: Storage, config: TableConfig, timeline: Timeline, clock: Clock, slices: Iterable[FileSlice]
) -> Mapping[str, KeyRange] | UnusableMetadataTable:
    """Map the path of each base file to the range of its record keys. Keys are compared by their UTF-8 bytes.

    Files without statistics, and files for which `usable_range` returns None, are left out. The metadata table is
    checked as for a listing (see `list_from_metadata_table`).

    Args:
        config: properties of the table. The caller may read them before or after the timeline.
        timeline: active timeline of the table. It must be loaded before this call.
        slices: live file slices.

    Raises:
        StorageError: a request failed for another reason than a missing file.
    """
    paths = {
        column_stats_key(_RECORD_KEY, s.file_group_id.partition_path, s.base_file.file_name): path
        for s in slices
        if s.base_file is not None and (path := s.base_file_path) is not None
    }

    def read() -> Mapping[str, KeyRange]:
        index = open_checked_partition(storage, config, timeline, clock, COLUMN_STATS)
        records = _records(index, paths)
        return {paths[r.key]: found for r in records if (found := usable_range(r)) is not None}

    return usable_or_reason(read)


def usable_range(record: MetadataRecord) -> KeyRange | None:
    """Return the range of the keys in a file's statistics; None if the statistics do not prove that all keys are in it.

    Hudi compares the bounds of row groups in the order of UTF-16 code units, as Java compares strings. For characters
    from U+D800 on, this order differs from the order of UTF-8 bytes, so a range that contains such a character is not
    used.
    """
    stats = record.payload
    if not isinstance(stats, ColumnStats) or stats.column_name != _RECORD_KEY or stats.null_count != 0:
        return None
    low, high = _text(stats.min_value), _text(stats.max_value)
    if low is None or high is None or low > high or max(low + high, default="") >= _FIRST_SURROGATE:
        return None
    return low, high


def _text(value: StatValue | None) -> str | None:
    if value is None or value.kind is not StatKind.STRING or not isinstance(value.value, str):
        return None
    return value.value


def _records(index: CheckedPartition, keys: Iterable[str]) -> Iterator[MetadataRecord]:
    groups: dict[int, list[str]] = {}
    for key in keys if index.slices else ():
        groups.setdefault(file_group_of(key, len(index.slices)), []).append(key)

    def search(number: int) -> list[MetadataRecord]:
        return index.find_in(index.slices[number], frozenset(key.encode() for key in groups[number]))

    for records in map_in_parallel(search, groups):
        yield from records
