"""Read statistics of columns from `column_stats` or `partition_stats` of a metadata table."""

from collections.abc import Collection, Mapping

from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.metadata_table import completeness
from hudi_table_services.storage.metadata_table.checked_partition import (
    CheckedPartition,
    open_checked_partition,
)
from hudi_table_services.storage.metadata_table.unusable import (
    Reason,
    UnusableError,
    UnusableMetadataTable,
    some,
    usable_or_reason,
)
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage

StoredStatistics = Mapping[str, ColumnStats]
"""Statistics by the keys of their records."""


def read_statistics(
    storage: Storage, config: TableConfig, timeline: Timeline, clock: Clock, name: str, keys: Collection[str]
) -> StoredStatistics | UnusableMetadataTable:
    """Return the statistics with these keys, or why they cannot be used. Missing records are left out.

    The metadata table is checked as for a listing (see `list_from_metadata_table`). Statistics of partitions change
    with every write, so they are also refused if a compaction merged a write that completed after the timeline was
    loaded.

    Args:
        config: properties of the table. The caller may read them before or after the timeline.
        timeline: active timeline of the table. It must be loaded before this call.
        name: `column_stats` or `partition_stats`.

    Raises:
        StorageError: a request failed for another reason than a missing file.
    """

    def read() -> StoredStatistics:
        index = open_checked_partition(storage, config, timeline, clock, name)
        merged = completeness.merged_later_instants(index.table, index.slices)
        if name != COLUMN_STATS and merged:
            raise UnusableError(
                Reason.CHANGED,
                f"A compaction merged changes that completed after this job read the timeline: {some(merged)}.",
            )
        return _found(index, keys)

    return usable_or_reason(read)


def _found(index: CheckedPartition, keys: Collection[str]) -> StoredStatistics:
    groups: dict[int, list[bytes]] = {}
    for key in keys if index.slices else ():
        if index.name == COLUMN_STATS:
            groups.setdefault(file_group_of(key, len(index.slices)), []).append(key.encode())
        else:
            for number in range(len(index.slices)):
                groups.setdefault(number, []).append(key.encode())

    def search(number: int) -> dict[str, ColumnStats]:
        records = index.find_in(index.slices[number], frozenset(groups[number]))
        return {r.key: r.payload for r in records if isinstance(r.payload, ColumnStats)}

    found: dict[str, ColumnStats] = {}
    for each in map_in_parallel(search, groups):
        found |= each
    return found
