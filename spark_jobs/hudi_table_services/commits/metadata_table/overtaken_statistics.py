"""Keep the statistics of partitions correct, even if a commit completes before a commit that was requested earlier.

Readers merge the log files of the metadata table in the order of the requested times in their names
(HoodieLogFile.LogFileComparator, Hudi 1.2), and a tight record of `partition_stats` (its field `isTightBound` is true)
replaces all records before it. Suppose that commit L is requested later than commit E, but completes earlier. Then the
range in the record of L does not include the rows of E, but readers merge the record of L after the record of E. If the
record of L is tight, a filter can skip the partition although rows of E match.

Therefore a commit of this project writes no tight record while an earlier instant is pending (`may_be_overtaken`). Hudi
writes tight records in any case. If such a record hides the range of a commit (`is_overtaken`), the commit compacts the
metadata table right after it completes: the compaction merges statistics of partitions in the order of completion.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace

from hudi_table_services.errors import CorruptTableError, ObjectNotFoundError
from hudi_table_services.hudi_format.metadata_table.file_groups import PARTITION_STATS
from hudi_table_services.model.metadata_table import ColumnStats, MetadataChange, MetadataRecord
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.metadata_table.log_changes import Keys
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.metadata_table.record_merging import merge_records

_LOG = logging.getLogger(__name__)


def may_be_overtaken(data_timeline: Timeline, instant_time: str) -> bool:
    """Whether an instant of the table that was requested before this instant is still pending.

    Such an instant completes later, but readers merge its records before the records of this instant.
    """
    return any(i.requested_time < instant_time for i in data_timeline.pending if i.action.writes_data)


def is_overtaken(metadata: MetadataTable, instant_time: str, changes: Iterable[MetadataChange]) -> bool:
    """Whether records of later instants would make readers see a smaller range than the range in these records.

    Args:
        metadata: the metadata table before the delta commit with these records.
        instant_time: requested time of the delta commit.
        changes: the changes of the partition `partition_stats` in the delta commit.

    If the log files of `partition_stats` are damaged, the result is False: the caller would start a compaction, and no
    compaction merges damaged log files. The health report shows the damage.
    """
    if not any(i.requested_time > instant_time for i in metadata.timeline.completed_writes):
        return False
    try:
        return _is_hidden(metadata, instant_time, changes)
    except (CorruptTableError, ObjectNotFoundError) as error:
        _LOG.warning("The statistics of concurrent commits in the metadata table cannot be read: %s", error)
        return False


def _is_hidden(metadata: MetadataTable, instant_time: str, changes: Iterable[MetadataChange]) -> bool:
    own = {change.key.encode(): change for change in changes if isinstance(change, MetadataRecord)}
    partition = MetadataPartition(metadata, PARTITION_STATS)
    for file_slice in partition.slices:
        later = tuple(log for log in file_slice.log_files if log.instant_time > instant_time)
        found = (
            partition.changes_of(replace(file_slice, log_files=later), Keys(frozenset(own)))
            if later
            else None
        )
        for key, change in found.by_key.items() if found is not None else ():
            merged = change.applied(key, own[key])
            if merged is None or not _contains(merged, own[key]):
                return True
    return False


def _contains(record: MetadataRecord, other: MetadataRecord) -> bool:
    """Whether the range in a record contains the range in another record of the same key."""
    stats, own = record.payload, other.payload
    if not (isinstance(stats, ColumnStats) and isinstance(own, ColumnStats)) or stats.is_deleted:
        return False
    wider = merge_records(record, replace(other, payload=replace(own, is_tight_bound=False))).payload
    assert isinstance(wider, ColumnStats)  # noqa: S101 - both records are statistics
    return (wider.min_value, wider.max_value) == (stats.min_value, stats.max_value)
