"""Merge the files of a metadata table's file slice into the entries of a new base file."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain

from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX, SECONDARY_INDEX_PREFIX
from hudi_table_services.hudi_format.metadata_table.raw_records import (
    begins_with_meta_fields,
    meta_fields,
    with_meta_fields,
)
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import MetadataRecord
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.metadata_table.base_files import open_base_file
from hudi_table_services.storage.metadata_table.checked_partition import CheckedPartition
from hudi_table_services.storage.metadata_table.group_files import named
from hudi_table_services.storage.metadata_table.log_changes import LogChanges
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.metadata_table.record_merging import without_deletions


def merged_entries(
    partition: CheckedPartition, file_slice: FileSlice, schema: str, file_name: str
) -> Iterator[Entry]:
    """Yield the merged entries of a slice in the order of their keys.

    A record index or a secondary index can have millions of records. Its records are copied without being decoded: in
    base files, they contain no mark of a deletion, and the newest record of a key replaces all earlier records.

    Args:
        partition: the partition of the slice.
        schema: Avro schema of the new file.
        file_name: name of the new file, which each record contains.

    Raises:
        UnusableError: a log file does not contain the changes of the instant that wrote it.
        CorruptTableError: a file of the slice is damaged.
        UnsupportedTableError: the log files of the slice are too large.
    """
    changes = partition.changes_of(file_slice)
    codec = RecordFormat(schema)
    name = partition.name
    has_whole_records = name == RECORD_INDEX or name.startswith(SECONDARY_INDEX_PREFIX)
    if has_whole_records and begins_with_meta_fields(schema):
        with _base_entries(partition.table, file_slice, schema) as entries:
            if entries is not None:
                yield from _copied(entries, changes, codec, file_name)
                return
    yield from _encoded(partition.reader.records_of(file_slice, changes), codec, file_name)


@contextmanager
def _base_entries(
    table: MetadataTable, file_slice: FileSlice, schema: str
) -> Iterator[Iterator[Entry] | None]:
    """Yield an iterator of the base file's entries; empty without a base file, None if the file has another schema."""
    if file_slice.base_file is None:
        yield iter(())
        return
    with open_base_file(table, file_slice) as (base, path), naming(path):
        yield base.entries() if base.entry_count == 0 or base.schema == schema else None


def _encoded(records: Iterable[MetadataRecord], codec: RecordFormat, file_name: str) -> Iterator[Entry]:
    return (codec.encode(named(record, file_name)) for record in records)


def _copied(
    base: Iterator[Entry], changes: LogChanges, codec: RecordFormat, file_name: str
) -> Iterator[Entry]:
    """Merge two streams in the order of their keys. A changed record replaces the record of the base file."""
    start = meta_fields(file_name)
    changed = iter(sorted(changes.by_key))
    following = next(changed, None)
    is_live = _liveness(codec)

    def new(key: bytes) -> Iterator[Entry]:
        change = changes.by_key[key]
        if change.updates and change.updates[-1][0].record_format.schema == codec.schema:
            value = change.updates[-1][1]
            if is_live((key, value)):
                yield key, with_meta_fields(value, start)
            return
        record = change.applied(key, None)
        live = None if record is None else without_deletions(record)
        yield from _encoded(() if live is None else (live,), codec, file_name)

    for key, value in base:
        while following is not None and following < key:
            yield from new(following)
            following = next(changed, None)
        if following == key:
            yield from new(key)
            following = next(changed, None)
        else:
            yield key, with_meta_fields(value, start)
    for key in chain(() if following is None else (following,), changed):
        yield from new(key)


def _liveness(codec: RecordFormat) -> Callable[[Entry], bool]:
    """Return a function that checks whether an entry is live, i.e. not marked as deleted.

    The function decodes each distinct live value once. Records do not contain their keys, so there are few distinct
    values.
    """
    live: set[bytes] = set()

    def is_live(entry: Entry) -> bool:
        if entry[1] not in live:
            if without_deletions(codec.decode(entry)) is None:
                return False
            live.add(entry[1])
        return True

    return is_live
