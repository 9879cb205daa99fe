"""Build changes of the partition `record_index`: locations of record keys (HoodieTableMetadataUtil; Hudi 0.15, 1.2).

A commit writes a record only for a key that is new in its file group. An update of a row in its file group changes no
record, and compaction moves no key to another file group.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_ids import is_uuid_file_id
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.metadata_table import (
    DeletedKey,
    MetadataChange,
    MetadataRecord,
    RecordLocation,
    RecordType,
)


@dataclass(frozen=True, slots=True)
class NewKeys:
    """The keys that a commit added to a file group: the keys of inserts, or all keys if clustering wrote the group."""

    file_group_id: FileGroupId
    keys: Iterable[str]


def record_locations(
    groups: Iterable[NewKeys], instant_millis: int, *, stores_ids_as_text: bool = False
) -> Iterator[MetadataRecord]:
    """Yield a record for each new key. The function reads the keys only once, and one key at a time.

    Args:
        instant_millis: the commit's instant time, read in the time zone of the timeline, in milliseconds since 1970.
        stores_ids_as_text: whether the writer of the index stores ids of file groups as strings (encoding 1).

    Raises:
        UnsupportedTableError: the id of a file group is not a UUID, and ids are not stored as strings.
    """
    for group in groups:
        location = _location(group.file_group_id, instant_millis, stores_ids_as_text)
        for key in group.keys:
            yield MetadataRecord(key=key, record_type=RecordType.RECORD_INDEX, payload=location)


def deleted_locations(keys: Iterable[str]) -> Iterator[DeletedKey]:
    """Yield a deletion for each key whose record the commit deletes."""
    return (DeletedKey(key) for key in keys)


def replaced_locations(replaced: Iterable[str], written: Container[str]) -> Iterator[DeletedKey]:
    """Yield a deletion for each key of replaced file groups that the commit did not write again.

    Without these deletions, Hudi would look for such a key in the replaced file group, and would write the next row
    with this key into that file group.

    Args:
        replaced: keys of the file groups that an overwrite or the deletion of a partition replaced.
        written: all keys that the same commit wrote, including the keys of updates.
    """
    return (DeletedKey(key) for key in replaced if key not in written)


def record_index_changes(
    groups: Iterable[NewKeys],
    deleted: Iterable[str],
    instant_millis: int,
    *,
    stores_ids_as_text: bool = False,
) -> Iterator[MetadataChange]:
    """Yield the changes of a write: the locations of new keys, and the deletions of deleted keys."""
    yield from record_locations(groups, instant_millis, stores_ids_as_text=stores_ids_as_text)
    yield from deleted_locations(deleted)


def _location(group: FileGroupId, instant_millis: int, stores_ids_as_text: bool) -> RecordLocation:
    if not stores_ids_as_text and not is_uuid_file_id(group.file_id):
        raise UnsupportedTableError(
            f"The record index stores ids of file groups as numbers, but {group.file_id!r} is not a UUID, with or "
            "without a number.",
            hint="Drop this index with rebuild_metadata_table.py --drop record_index.",
        )
    return RecordLocation(
        partition_path=group.partition_path,
        file_id=group.file_id,
        instant_millis=instant_millis,
        is_plain_text=stores_ids_as_text,
    )
