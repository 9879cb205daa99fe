"""Read the records of a metadata table's partition: merge base files, read by byte ranges, with log files."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain

from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.hfile.reader import HFileReader
from hudi_table_services.hudi_format.metadata_table import file_groups
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import MetadataRecord
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.metadata_table.base_files import open_base_file
from hudi_table_services.storage.metadata_table.counted_instants import counted_instants
from hudi_table_services.storage.metadata_table.log_changes import (
    ALL_KEYS,
    Keys,
    LogChanges,
    Prefixes,
    Selection,
    Source,
    read_log_changes,
)
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.metadata_table.record_merging import without_deletions
from hudi_table_services.storage.parallel import map_in_parallel

_Select = Callable[[HFileReader], Iterator[Entry]]
_BY_HASH_OF_KEY = (file_groups.COLUMN_STATS, file_groups.BLOOM_FILTERS, file_groups.RECORD_INDEX)


class MetadataPartition:
    """The newest records of a partition of a metadata table.

    Each call of a method reads the complete log files of the file groups that it needs, so find many keys with one
    call. `log_bytes` is the size of the log files of all file groups. If Hudi cleans old slices during a call, the
    methods raise ObjectNotFoundError; the caller then opens the metadata table again.

    Args:
        table: the open metadata table.
        partition: e.g. ``files``; need not be in `table.partitions`.
        slices: the result of `partition_slices`, if the caller has it.
        counted: instants whose blocks are valid; None means the result of `counted_instants`.

    Raises:
        CorruptTableError, UnsupportedTableError: see `partition_slices`. The methods raise the same errors if a file
            is damaged or has an unknown form.
    """

    def __init__(
        self,
        table: MetadataTable,
        partition: str,
        *,
        slices: tuple[FileSlice, ...] | None = None,
        counted: frozenset[str] | None = None,
    ) -> None:
        self._table = table
        self._partition = partition
        self.slices = partition_slices(table, partition) if slices is None else slices
        if counted is None:
            counted = counted_instants(
                table.data_timeline, table.timeline, has_own_log_instants=table.has_own_log_instants
            )
        self._counted = counted

    @property
    def log_bytes(self) -> int:
        """Bytes of the log files of all slices."""
        return sum(log.size_bytes for found in self.slices for log in found.log_files)

    def records(self) -> Iterator[MetadataRecord]:
        """Yield all records, one file group after another. Within a file group, they are in the order of the keys.

        Memory: the log files of one file group; base files are streamed.
        """
        for file_slice in self.slices:
            yield from self.records_of(file_slice, self.changes_of(file_slice))

    def find(self, keys: Collection[str]) -> Mapping[str, MetadataRecord]:
        """Map each key that has a record to its record. File groups are read in parallel.

        In column statistics, bloom filters and a record index, the hash of a key determines the file group that is
        read, as in Hudi. In indexes with other rules (secondary and expression indexes, a record index with file groups
        for each partition of the table), all file groups are read.
        """
        groups = self._by_group(keys)

        def search(file_slice: FileSlice) -> list[MetadataRecord]:
            wanted = frozenset(groups[file_slice])
            return self._search(file_slice, lambda reader: reader.find(wanted), Keys(wanted))

        found = chain.from_iterable(map_in_parallel(search, groups))
        return {record.key: record for record in found}

    def find_in(
        self, file_slice: FileSlice, keys: Collection[bytes], changes: LogChanges
    ) -> list[MetadataRecord]:
        """Find the records with these keys in one slice.

        Args:
            changes: result of `changes_of` for the slice and these keys only.
        """
        return list(self._merged(file_slice, changes, lambda reader: reader.find(keys)))

    def find_prefixes(self, prefixes: Collection[str]) -> list[MetadataRecord]:
        """Find all records whose keys start with one of the prefixes. All file groups are read, in parallel."""
        starts = tuple({prefix.encode() for prefix in prefixes})

        def search(file_slice: FileSlice) -> list[MetadataRecord]:
            return self._search(file_slice, lambda reader: reader.find_prefixes(starts), Prefixes(starts))

        return list(chain.from_iterable(map_in_parallel(search, self.slices if starts else ())))

    def changes_of(self, file_slice: FileSlice, selection: Selection = ALL_KEYS) -> LogChanges:
        """Read the changes in the log files of a slice."""
        return read_log_changes(self._table, file_slice, self._counted, selection)

    def records_of(self, file_slice: FileSlice, changes: LogChanges) -> Iterator[MetadataRecord]:
        """Yield the records of a slice in the order of their keys."""
        return self._merged(file_slice, changes, HFileReader.entries)

    def _search(self, file_slice: FileSlice, select: _Select, selection: Selection) -> list[MetadataRecord]:
        return list(self._merged(file_slice, self.changes_of(file_slice, selection), select))

    def _merged(
        self, file_slice: FileSlice, changes: LogChanges, select: _Select
    ) -> Iterator[MetadataRecord]:
        if file_slice.base_file is None:
            yield from _present(_only_changes(changes))
            return
        with open_base_file(self._table, file_slice) as (reader, path):
            entries = _named(select(reader), path)
            with naming(path):
                source = Source(path, RecordFormat(reader.schema)) if reader.entry_count else None
            yield from _present(_with_changes(entries, source, changes))

    def _by_group(self, keys: Collection[str]) -> dict[FileSlice, list[bytes]]:
        is_routed = self._partition in _BY_HASH_OF_KEY and not any(
            file_groups.partition_of_record_index_id(s.file_group_id.file_id) is not None for s in self.slices
        )
        found: dict[FileSlice, list[bytes]] = {}
        for key in keys if self.slices else ():
            slices: Iterable[FileSlice] = self.slices
            if is_routed:
                slices = [self.slices[file_group_of(key, len(self.slices))]]
            for file_slice in slices:
                found.setdefault(file_slice, []).append(key.encode())
        return found


def _named(entries: Iterator[Entry], path: str) -> Iterator[Entry]:
    with naming(path):
        yield from entries


def _with_changes(
    entries: Iterator[Entry], source: Source | None, changes: LogChanges
) -> Iterator[MetadataRecord | None]:
    """Merge the entries of a base file with the changes, both in the order of their keys. The entries are streamed."""
    changed = iter(sorted(changes.by_key))
    following = next(changed, None)
    for key, value in entries:
        while following is not None and following < key:
            yield changes.by_key[following].applied(following, None)
            following = next(changed, None)
        record = source.decode(key, value) if source is not None else None
        if following == key:
            record = changes.by_key[key].applied(key, record)
            following = next(changed, None)
        yield record
    for key in chain(() if following is None else (following,), changed):
        yield changes.by_key[key].applied(key, None)


def _only_changes(changes: LogChanges) -> Iterator[MetadataRecord | None]:
    return (changes.by_key[key].applied(key, None) for key in sorted(changes.by_key))


def _present(records: Iterable[MetadataRecord | None]) -> Iterator[MetadataRecord]:
    for record in records:
        live = None if record is None else without_deletions(record)
        if live is not None:
            yield live
