"""What the metadata records of a change depend on: the indexes of the table, the indexed columns and the live files."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS, RECORD_INDEX
from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import SCHEMA_KEY, CommitMetadata
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn, indexed_columns
from hudi_table_services.planning.metadata_table.partitioned_record_index import is_partitioned_index
from hudi_table_services.storage.file_slices import Visibility, visibility_of
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.metadata_table import require_definitions
from hudi_table_services.tables.snapshots.archived_completions import knowing_archived
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess


@dataclass(frozen=True, kw_only=True)
class IndexedTable:
    """A table whose lock the job has, and its open metadata table.

    Attributes:
        metadata: the metadata table.
        schema_json: Avro schema of the table after the change; None means the schema of the latest write.
        may_be_overtaken: see `overtaken_statistics.may_be_overtaken`.
    """

    table: TableAccess
    metadata: MetadataTable
    schema_json: str | None = None
    may_be_overtaken: bool = False

    @property
    def storage(self) -> Storage:
        """The files of the table."""
        return self.table.storage

    @property
    def version(self) -> TableVersion:
        """Version of the table."""
        return self.table.config.table_version

    @property
    def partitions(self) -> tuple[str, ...]:
        """Partitions of the metadata table. A change of the table must update all of these partitions."""
        return self.metadata.partitions

    @cached_property
    def definitions(self) -> Mapping[str, IndexDefinition]:
        """Definitions of the indexes; empty if no index needs one.

        Raises:
            CorruptTableError: the definitions are damaged, or lack the definition of the column statistics.
        """
        return require_definitions(self.storage, self.partitions, self.version)

    def require_definitions(self) -> None:
        """Read `definitions`, so that errors are raised now."""
        _ = self.definitions

    @cached_property
    def columns(self) -> tuple[IndexedColumn, ...]:
        """The columns with statistics; none if the table has no index `column_stats`.

        Raises:
            CorruptTableError: see `definitions`; or no commit contains a readable schema of the table.
            UnsupportedTableError: see `from_avro_json`.
        """
        if COLUMN_STATS not in self.partitions:
            return ()
        definition = self.definitions.get(COLUMN_STATS)
        schema = self.schema_json or load_snapshot(self.storage, ()).schema_json
        if not schema:
            raise CorruptTableError("The table has column statistics, but no commit contains its schema.")
        return indexed_columns(from_avro_json(schema), definition)

    @property
    def has_partitioned_record_index(self) -> bool:
        """Whether the record index has file groups for each partition of the table."""
        return RECORD_INDEX in self.partitions and is_partitioned_index(self.definitions)

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns with statistics."""
        return tuple(column.name for column in self.columns)

    def live_files_after(
        self, metadata: CommitMetadata, partitions: Collection[str]
    ) -> Mapping[str, frozenset[str]]:
        """Map each partition to the names of its live files after a write, without files of replaced file groups.

        The live files are the base file and the log files of the newest slice of each file group.
        """
        snapshot = load_snapshot(self.storage, partitions)
        before = {path: {s.file_group_id.file_id: s for s in snapshot.slices_of(path)} for path in partitions}
        live = {
            path: {id_: _names(found) for id_, found in groups.items()} for path, groups in before.items()
        }
        stats = [stat for stat in metadata.write_stats if stat.path and stat.partition_path in before]
        visibility = visibility_of(snapshot)
        if visibility.has_own_log_instants:
            compacted = [before[s.partition_path].get(s.file_id) for s in stats if not s.is_log_file]
            logs = {log.instant_time for found in compacted if found is not None for log in found.log_files}
            visibility = knowing_archived(self.storage, self.table.config, visibility, logs)
        for path, ids in (metadata.partition_to_replace_file_ids or {}).items():
            for file_id in ids:
                live.get(path, {}).pop(file_id, None)
        for stat in stats:
            path, name = stat.partition_path, file_name(stat.path)
            if stat.is_log_file:
                kept = live[path].get(stat.file_id, frozenset())
            else:
                kept = _later_logs(before[path].get(stat.file_id), name, visibility)
            live[path][stat.file_id] = kept | {name}
        return {path: frozenset().union(*groups.values()) for path, groups in live.items()}


def _names(file_slice: FileSlice) -> frozenset[str]:
    return frozenset(file_name(path) for path in file_slice.paths)


def _later_logs(before: FileSlice | None, new_base: str, visibility: Visibility) -> frozenset[str]:
    """Return the log files of the slice `before` that the compaction did not merge.

    These log files belong to the slice of the new base file.
    """
    time = instant_in_file_name(new_base) or ""
    return frozenset(
        log.file_name
        for log in (before.log_files if before is not None else ())
        if (
            visibility.visible_from(log.instant_time) >= time
            if visibility.has_own_log_instants
            else log.instant_time == time
        )
    )


def schema_of(metadata: CommitMetadata) -> str | None:
    """Avro schema in a commit; None if the commit has no schema."""
    return metadata.extra_metadata.get(SCHEMA_KEY) or None
