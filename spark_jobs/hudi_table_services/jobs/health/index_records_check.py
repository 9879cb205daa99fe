"""Read every record of every index of a metadata table, and compare statistics with the footers of the data files.

The health report uses this check only on request. Its default check reads only file names and log files, so it does not
notice damage inside a file that has its full length.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    PARTITION_STATS,
    RECORD_INDEX,
    partition_of_record_index_id,
)
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.planning.metadata_table.hidden_rows import (
    StoredStats,
    wrong_file_statistics,
    wrong_partition_statistics,
)
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn, indexed_columns
from hudi_table_services.storage.damage import REBUILD_HINT
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.metadata_table.checked_partition import CheckedPartition, check_files
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.stores.storage import StoredObject
from hudi_table_services.storage.table_store import METADATA_TABLE
from hudi_table_services.tables.metadata_table import refusing_unusable, require_definitions
from hudi_table_services.tables.table import TableAccess

_NEVER = "9"
"""Instant time of files that belong to no instant: later than every instant."""


@dataclass(frozen=True, slots=True)
class VisibleFiles:
    """Base files of the table.

    Attributes:
        all_versions: base files of completed writes.
        live: paths of the base files in the newest file slices.
        schema_json: Avro schema of the table; None if the table has no completed write.
    """

    all_versions: tuple[StoredObject, ...]
    live: frozenset[str]
    schema_json: str | None

    @classmethod
    def of(
        cls, snapshot: TableSnapshot, listed: Mapping[str, tuple[StoredObject, ...]], visibility: Visibility
    ) -> "VisibleFiles":
        """Select the base files in the listing of all folders."""
        return cls(
            all_versions=tuple(
                stored
                for _, files in sorted(listed.items())
                for stored in files
                if not stored.name.startswith(".")
                and visibility.sees(instant_in_file_name(stored.name) or _NEVER)
            ),
            live=frozenset(each.base_file_path for each in snapshot.all_slices if each.base_file_path),
            schema_json=snapshot.schema_json,
        )


def check_index_records(table: TableAccess, metadata: MetadataTable, files: VisibleFiles) -> tuple[str, ...]:
    """Read all records of all indexes of a metadata table.

    Returns:
        A sentence about each record of `column_stats` and `partition_stats` that would make a reader skip rows.

    Raises:
        CorruptTableError: a file of an index is lost or damaged, or a key is in a file group to which it does not
            belong.
        ObjectNotFoundError: a file vanished during the check.
        UnsupportedTableError: an index or a data file has content that this release cannot read.
    """
    stored: dict[str, StoredStats] = {COLUMN_STATS: {}, PARTITION_STATS: {}}
    with refusing_unusable():
        for name in metadata.partitions:
            found = check_files(metadata, name, metadata.storage.list_folder(name).files)
            stats = _read(found)
            if name in stored:
                stored[name] = stats
    if COLUMN_STATS not in metadata.partitions:
        return ()
    return tuple(_compared(table, metadata, files, stored))


def _read(partition: CheckedPartition) -> StoredStats:
    """Decode all records of a partition. Return the statistics among the records."""
    stats = {}
    is_hashed = partition.name in (COLUMN_STATS, BLOOM_FILTERS) or (
        partition.name == RECORD_INDEX and _is_global(partition)
    )
    for number, file_slice in enumerate(partition.slices):
        for record in partition.reader.records_of(file_slice, partition.changes_of(file_slice)):
            if is_hashed and file_group_of(record.key, len(partition.slices)) != number:
                raise _misplaced(partition, file_slice.file_group_id.file_id)
            payload = record.payload
            if isinstance(payload, ColumnStats) and not payload.is_deleted:
                stats[str(payload.file_name), str(payload.column_name)] = payload
    return stats


def _compared(
    table: TableAccess, metadata: MetadataTable, files: VisibleFiles, stored: Mapping[str, StoredStats]
) -> Collection[str]:
    columns = _columns(table, metadata, files.schema_json)
    recorded = {name for name, _ in stored[COLUMN_STATS]}
    wanted = [each for each in files.all_versions if each.name in recorded or each.path in files.live]
    data_files = [DataFile(each.path.rpartition("/")[0], each.name, each.size_bytes) for each in wanted]
    read = DataFileReader(table.storage).statistics(data_files, [column.name for column in columns])
    live = [found for found, each in zip(read, wanted, strict=True) if each.path in files.live]
    return list(
        chain(
            wrong_file_statistics(read, stored[COLUMN_STATS], columns),
            wrong_partition_statistics(live, stored[PARTITION_STATS], columns),
        )
    )


def _columns(
    table: TableAccess, metadata: MetadataTable, schema_json: str | None
) -> tuple[IndexedColumn, ...]:
    definitions = require_definitions(table.storage, metadata.partitions, table.config.table_version)
    if not schema_json:
        raise CorruptTableError("The table has column statistics, but no commit contains its schema.")
    return indexed_columns(from_avro_json(schema_json), definitions.get(COLUMN_STATS))


def _is_global(index: CheckedPartition) -> bool:
    ids = (each.file_group_id.file_id for each in index.slices)
    return all(partition_of_record_index_id(file_id) is None for file_id in ids)


def _misplaced(partition: CheckedPartition, file_id: str) -> CorruptTableError:
    path = f"{METADATA_TABLE}/{partition.name}"
    return CorruptTableError(
        f"A key in the file group {file_id} of `{partition.name}` belongs to a different one of the "
        f"{len(partition.slices)} file groups. File groups are probably lost.",
        path=path,
        hint=REBUILD_HINT,
    )
