"""Convert the changed rows of one commit to log files of the secondary indexes, one file group at a time.

As in Hudi 1.2, a deletion block contains the keys of old values, and a record without content marks each new key.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from hudi_table_services.commits.metadata_table.indexed_table import IndexedTable
from hudi_table_services.errors import CommitConflictError
from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts
from hudi_table_services.execution.metadata_table.key_changes import StagedKeysReader
from hudi_table_services.execution.metadata_table.row_changes import SecondaryStaging, secondary_staging
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.metadata_table.file_groups import file_group_id
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.metadata_table import (
    MetadataRecord,
    RecordType,
    SecondaryIndex,
    SecondaryIndexEntry,
)
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.planning.metadata_table.secondary_indexes import (
    require_indexable,
    require_same_texts,
    secondary_indexes,
)
from hudi_table_services.storage.metadata_table.file_format import FileFormat
from hudi_table_services.storage.metadata_table.group_files import GroupLog
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondaryKeyChanges:
    """New and deleted keys of one secondary index, which the tasks of a write staged."""

    index: SecondaryIndex
    reader: StagedKeysReader
    group_counts: frozenset[int]

    def logs(self, form: FileFormat, group_count: int) -> list[Callable[[], GroupLog]]:
        """For each file group of the index, a function that reads the staged keys and returns the log.

        Args:
            group_count: number of file groups that the index has now.

        Raises:
            CommitConflictError: the index had another number of file groups when the write began.
        """
        if self.group_counts - {group_count}:
            raise _built_meanwhile(self.index.name)
        codec = RecordFormat(form.schema)
        return [partial(self._log, codec, number, group_count) for number in range(group_count)]

    def _log(self, codec: RecordFormat, number: int, group_count: int) -> GroupLog:
        changes = self.reader.changes(number, group_count)
        name = self.index.name
        return GroupLog(
            file_group_id=FileGroupId(name, file_group_id(name, number)),
            entries=_entries((key for key, _ in changes.locations()), codec),
            entry_count=len(changes.new_keys),
            deleted_keys=tuple(changes.deletions()),
        )


def secondary_indexes_of(table: IndexedTable) -> tuple[SecondaryIndex, ...]:
    """The secondary indexes that a change of rows must update.

    Raises:
        CorruptTableError, UnsupportedTableError: see `secondary_indexes.secondary_indexes`.
    """
    return secondary_indexes(table.partitions, table.definitions, table.version)


def secondary_stagings(table: IndexedTable, schema_json: str, folder: str) -> tuple[SecondaryStaging, ...]:
    """The settings with which the tasks of a write stage keys of the secondary indexes.

    Args:
        schema_json: Avro schema of the new files.
        folder: staging folder, which must exist until the commit is complete.

    Raises:
        CorruptTableError, UnsupportedTableError: this release cannot update an index.
    """
    indexes = secondary_indexes_of(table)
    if not indexes:
        return ()
    after = from_avro_json(schema_json)
    require_indexable(indexes, after)
    stored = load_snapshot(table.storage, ()).schema_json
    if stored:
        require_same_texts(indexes, from_avro_json(stored), after)
    return tuple(
        secondary_staging(folder, index, len(partition_slices(table.metadata, index.name)))
        for index in indexes
    )


def secondary_key_changes(
    table: IndexedTable, facts: CollectedFacts, metadata: CommitMetadata
) -> Mapping[str, SecondaryKeyChanges]:
    """Changes of each secondary index by its name; empty for a clustering or a compaction.

    Clusterings and compactions change no value and no key: a compaction merges changes that delta commits have already
    written into the indexes.

    Raises:
        CommitConflictError: an index was built, or its definition was replaced, after the write began.
        CorruptTableError, UnsupportedTableError: this release cannot update an index.
    """
    if metadata.operation_type in (WriteOperation.CLUSTER, WriteOperation.COMPACT):
        return {}
    return {index.name: _changes_of(table.storage, facts, index) for index in secondary_indexes_of(table)}


def _changes_of(storage: Storage, facts: CollectedFacts, index: SecondaryIndex) -> SecondaryKeyChanges:
    if index not in facts.collected_indexes:
        raise _built_meanwhile(index.name)
    staged = [each.keys for each in facts.secondary if each.index == index]
    return SecondaryKeyChanges(
        index=index,
        reader=StagedKeysReader(storage, staged),
        group_counts=frozenset(keys.group_count for keys in staged),
    )


def _entries(keys: Iterable[str], codec: RecordFormat) -> Iterator[Entry]:
    """Entries of new keys. A record does not contain its key, so all records are equal."""
    value: bytes | None = None
    for key in keys:
        if value is None:
            record = MetadataRecord(
                key=key, record_type=RecordType.SECONDARY_INDEX, payload=SecondaryIndexEntry()
            )
            value = codec.encode(record)[1]
        yield key.encode(), value


def _built_meanwhile(name: str) -> CommitConflictError:
    return CommitConflictError(
        f"Another writer built the index {name} of the metadata table during this write.",
        hint="Nothing was committed; run the request again.",
    )
