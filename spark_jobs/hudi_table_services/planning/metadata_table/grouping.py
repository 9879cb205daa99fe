"""Assign the changes of a commit to file groups of the metadata table (HoodieTableMetadataUtil, Hudi 0.15 and 1.2)."""

from collections.abc import Iterable

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table import file_groups
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.metadata_table import DeletedKey, GroupChange, MetadataChange, MetadataRecord
from hudi_table_services.planning.metadata_table.secondary_indexes import is_secondary_index

MAINTAINED = frozenset(
    {
        file_groups.FILES,
        file_groups.COLUMN_STATS,
        file_groups.PARTITION_STATS,
        file_groups.BLOOM_FILTERS,
        file_groups.RECORD_INDEX,
    }
)
"""The partitions of the metadata table that this project can keep up to date, besides secondary indexes."""


def is_maintained(partition: str) -> bool:
    """Whether this project can keep partitions of this kind in the metadata table up to date."""
    return partition in MAINTAINED or is_secondary_index(partition)


def group_number(change: MetadataChange, group_count: int) -> int:
    """Return the number of the file group to which a change belongs. Numbers are unique within a partition."""
    return file_group_of(change.key, group_count)


def group_changes(
    partition: str, changes: Iterable[MetadataChange], group_count: int
) -> tuple[GroupChange, ...]:
    """Group the changes of one commit by file group, in the order of group numbers. Leave out groups without changes.

    The function keeps all changes in memory. For a large record index, divide the changes with `group_number`, and call
    this function once for each file group.

    Args:
        partition: partition of the metadata table, but not a partitioned record index, whose file groups have other
            ids.
        changes: the changes of the commit. If two records have the same key, the later record counts. If a key has a
            record and a deletion, readers see the key as deleted.
        group_count: number of file groups that the folder of the partition has.

    Raises:
        UnsupportedTableError: the partition has records that this project does not write, or it has no file group.
    """
    _require_maintained(partition, group_count)
    records: dict[int, dict[bytes, MetadataRecord]] = {}
    deleted: dict[int, set[bytes]] = {}
    for change in changes:
        number, key = group_number(change, group_count), change.key.encode()
        match change:
            case MetadataRecord():
                records.setdefault(number, {})[key] = change
            case DeletedKey():
                deleted.setdefault(number, set()).add(key)
    return tuple(
        GroupChange(
            file_group_id=FileGroupId(partition, file_groups.file_group_id(partition, number)),
            records=tuple(records[number][key] for key in sorted(records.get(number, ()))),
            deleted_keys=tuple(key.decode() for key in sorted(deleted.get(number, ()))),
        )
        for number in sorted(records.keys() | deleted.keys())
    )


def _require_maintained(partition: str, group_count: int) -> None:
    if partition not in MAINTAINED:
        raise UnsupportedTableError(
            f"The metadata table has the partition {partition!r}, which this release cannot keep up to date.",
            hint=f"Drop this index with rebuild_metadata_table.py --drop {partition}.",
        )
    if group_count < 1:
        raise UnsupportedTableError(
            f"The partition {partition!r} of the metadata table has no file group.",
            hint="Build the metadata table again with rebuild_metadata_table.py.",
        )
