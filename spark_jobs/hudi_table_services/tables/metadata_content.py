"""Read the facts that a new metadata table describes: the files that readers see, and the newest file slices."""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.errors import CommitConflictError
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.schema import StructType, without_meta_columns
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class TableContent:
    """State of a table.

    Attributes:
        files: maps each partition path to its data files, and each data file to its size in bytes. Files of instants
            that are not completed, and files other than data files, are left out. A partition may have no files.
        live_slices: maps each partition path to the newest slices of its file groups, without replaced file groups.
        schema_json: Avro schema of the table as JSON; None if the table has no schema yet.
    """

    timeline: Timeline
    files: Mapping[str, Mapping[str, int]]
    live_slices: Mapping[str, tuple[FileSlice, ...]]
    schema_json: str | None

    @property
    def schema(self) -> StructType:
        """Columns of the table, without meta columns; none if the table has no schema yet.

        Raises:
            UnsupportedTableError: a column has a type that this project does not know.
        """
        return without_meta_columns(from_avro_json(self.schema_json)) if self.schema_json else StructType(())


def load_content(table: TableAccess) -> TableContent:
    """List the folders of the table. Call this under the table lock.

    Raises:
        CommitConflictError: the table changed during the listing.
        MalformedMetadataError: a replace commit or the newest commit cannot be read.
    """
    timeline = table.load_timeline()
    visibility = Visibility.of(timeline, has_own_log_instants=table.config.table_version.has_own_log_instants)
    listed = list_partitions(table.storage)
    snapshot = load_snapshot(table.storage, config=table.config, metadata_enable=False)
    if snapshot.timeline != timeline:
        raise CommitConflictError(
            "Another writer changed the timeline of the table although this job has the table lock.",
            hint="Configure all writers of the table to use the same lock, and run the request again.",
        )
    return TableContent(
        timeline=timeline,
        files={
            path: {f.name: f.size_bytes for f in files if _is_visible(f.name, visibility)}
            for path, files in listed.items()
        },
        live_slices=snapshot.file_slices,
        schema_json=snapshot.schema_json,
    )


def _is_visible(name: str, visibility: Visibility) -> bool:
    """Whether readers see a data file. In table version 6, the name of a log file does not contain its instant."""
    instant_time = instant_in_file_name(name)
    if instant_time is None:
        return False
    if name.startswith(".") and not visibility.has_own_log_instants:
        return True
    return visibility.sees(instant_time)
