"""Read the changes in the log files of a file slice of a metadata table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.hfile.reader import HFileReader
from hudi_table_services.hudi_format.metadata_table.log_file import (
    DeletedKeysBlock,
    MetadataLogBlock,
    RecordsBlock,
    RollbackBlock,
    decode_log_file,
)
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import MetadataRecord
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.metadata_table.record_merging import merge_records
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.table_store import METADATA_TABLE

MAX_LOG_BYTES = 512 << 20
"""Largest total size of the log files of one file slice. By default, Hudi compacts after ten writes."""


class Selection(Protocol):
    """Which records of log files a caller wants."""

    def entries_of(self, records: HFileReader) -> Iterator[Entry]:
        """Yield the wanted entries of a log block."""

    def __contains__(self, key: bytes) -> bool:
        """Whether the caller wants the record of a key."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Selects the records of some keys. Parts of a log block that cannot have these keys are not decoded."""

    keys: frozenset[bytes]

    def entries_of(self, records: HFileReader) -> Iterator[Entry]:
        if len(self.keys) > records.entry_count:
            # A search of all keys would take longer than a check of all entries.
            return (entry for entry in records.entries() if entry[0] in self.keys)
        return records.find(self.keys)

    def __contains__(self, key: bytes) -> bool:
        return key in self.keys


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Selects the records whose keys start with one of the prefixes. Other parts of a log block are not decoded."""

    prefixes: tuple[bytes, ...]

    def entries_of(self, records: HFileReader) -> Iterator[Entry]:
        return records.find_prefixes(self.prefixes)

    def __contains__(self, key: bytes) -> bool:
        return key.startswith(self.prefixes)


@dataclass(frozen=True, slots=True)
class _AllKeys:
    """Selects all records."""

    def entries_of(self, records: HFileReader) -> Iterator[Entry]:
        return records.entries()

    def __contains__(self, key: bytes) -> bool:
        return True


ALL_KEYS = _AllKeys()


@dataclass(frozen=True, slots=True)
class NoKeys:
    """Selects no record, but decodes all blocks, to find damage."""

    def entries_of(self, records: HFileReader) -> Iterator[Entry]:
        for _ in records.entries():
            pass
        return iter(())

    def __contains__(self, key: bytes) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Source:
    """A file with records, and their format."""

    path: str
    record_format: RecordFormat

    def decode(self, key: bytes, value: bytes) -> MetadataRecord:
        """Decode the record of an entry. Raises MalformedMetadataError with the path of the file."""
        with naming(self.path):
            return self.record_format.decode((key, value))


@dataclass(slots=True)
class Change:
    """Changes of one key, oldest first.

    Attributes:
        replaces: whether the key was deleted before the updates, so that the record of the base file is ignored.
    """

    replaces: bool = False
    updates: list[tuple[Source, bytes]] = field(default_factory=list)

    def applied(self, key: bytes, base: MetadataRecord | None) -> MetadataRecord | None:
        """Return the merged record; None if the key is deleted."""
        merged = None if self.replaces else base
        for source, value in self.updates:
            record = source.decode(key, value)
            with naming(source.path):
                merged = record if merged is None else merge_records(merged, record)
        return merged


@dataclass(frozen=True, slots=True)
class LogChanges:
    """Changes by key, and the instants of all valid blocks."""

    by_key: dict[bytes, Change]
    instants: frozenset[str]


def read_log_changes(
    table: MetadataTable, file_slice: FileSlice, counted: frozenset[str], selection: Selection
) -> LogChanges:
    """Read all log files of a slice in parallel.

    Memory: the log files (`MAX_LOG_BYTES` at most), one decompressed block, and the wanted records.

    Args:
        counted: the result of `counted_instants`.
        selection: the records to read.

    Raises:
        UnsupportedTableError: the log files are too large, or have blocks that do not occur in metadata tables.
        CorruptTableError: a log file is damaged.
    """
    size = sum(log.size_bytes for log in file_slice.log_files)
    if size > MAX_LOG_BYTES:
        raise UnsupportedTableError(
            f"The log files of {file_slice.file_group_id} in the metadata table have {size} bytes; the limit is "
            f"{MAX_LOG_BYTES} bytes.",
            hint="Build the metadata table again with rebuild_metadata_table.py, or let a write of Hudi compact it.",
        )
    partition = file_slice.file_group_id.partition_path
    paths = [join_path(partition, log.file_name) for log in file_slice.log_files]
    contents = map_in_parallel(table.storage.read, paths)
    blocks: list[tuple[str, MetadataLogBlock]] = []
    for log, path, content in zip(file_slice.log_files, paths, contents, strict=True):
        full_path = join_path(METADATA_TABLE, path)
        with naming(full_path):
            found = list(decode_log_file(content, path))
            if table.has_own_log_instants:
                _check_instants(log, found)
        blocks += [(full_path, block) for block in found]
    counting = [(path, block) for path, block in not_rolled_back(blocks) if block.instant_time in counted]
    return LogChanges(_changes(counting, selection), frozenset(block.instant_time for _, block in counting))


def _check_instants(log: LogFile, blocks: Sequence[MetadataLogBlock]) -> None:
    """Refuse a block whose instant differs from the instant in the name of its file.

    Readers would ignore such a block, so the write would be lost without an error.
    """
    for block in blocks:
        if block.instant_time != log.instant_time:
            raise MalformedMetadataError(
                f"the file has a block of the instant {block.instant_time}, but its name contains {log.instant_time}."
            )


def not_rolled_back(
    blocks: Iterable[tuple[str, MetadataLogBlock]],
) -> list[tuple[str, RecordsBlock | DeletedKeysBlock]]:
    """Return the blocks with changes. A rollback block removes all earlier blocks of its target instant."""
    kept: list[tuple[str, RecordsBlock | DeletedKeysBlock]] = []
    for path, block in blocks:
        if isinstance(block, RollbackBlock):
            kept = [(p, b) for p, b in kept if b.instant_time != block.target_instant_time]
        else:
            kept.append((path, block))
    return kept


def _changes(
    blocks: Iterable[tuple[str, RecordsBlock | DeletedKeysBlock]], selection: Selection
) -> dict[bytes, Change]:
    changes: dict[bytes, Change] = {}
    for path, block in blocks:
        if isinstance(block, DeletedKeysBlock):
            for key in map(str.encode, block.keys):
                if key in selection:
                    changes[key] = Change(replaces=True)
            continue
        with naming(path):
            source: Source | None = None
            for key, value in selection.entries_of(block.records):
                source = source or Source(path, RecordFormat(block.records.schema))
                changes.setdefault(key, Change()).updates.append((source, value))
    return changes
