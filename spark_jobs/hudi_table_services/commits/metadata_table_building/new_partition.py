"""Write one partition of a metadata table with all its records, in a delta commit of its own."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from hudi_table_services.commits.metadata_table_building.first_instants import first_instant_time
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.metadata_table.file_groups import file_group_id
from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE, encode_partition_metadata
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import IndexDefinition, MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import FILE_GROUPS_KEY, CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.metadata_table.grouping import group_changes
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.metadata_table.file_format import FileFormat
from hudi_table_services.storage.metadata_table.group_files import write_base_file, write_first_log_file
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFiles:
    """Where and how the base files of a new partition are written.

    Attributes:
        storage: the metadata table.
        groups: file groups of the partition, by number.
        form: schema and format of the files.
    """

    storage: Storage
    groups: tuple[FileGroupId, ...]
    instant_time: str
    form: FileFormat


WriteBaseFiles = Callable[[NewFiles], Sequence[WriteStat]]
"""Writes a base file for each file group that has records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPartition:
    """A partition to build.

    Attributes:
        definition: definition of the index, if the table version stores one.
        file_ids: ids of the file groups, in order; None means ids that contain the numbers from 0 to
            `group_count` - 1.
    """

    name: str
    group_count: int
    write_base_files: WriteBaseFiles
    definition: IndexDefinition | None = None
    file_ids: tuple[str, ...] | None = None


def records_writer(records: Callable[[], Iterable[MetadataRecord]]) -> WriteBaseFiles:
    """Return a function that writes records, all of which must fit into memory.

    Args:
        records: creates the records of the partition, in any order.
    """

    def write(files: NewFiles) -> Sequence[WriteStat]:
        partition = files.groups[0].partition_path
        changes = group_changes(partition, records(), len(files.groups))
        return [
            write_base_file(
                files.storage, change.file_group_id, change.records, files.instant_time, files.form
            )
            for change in changes
        ]

    return write


def write_partition(
    table: MetadataTable, new: NewPartition, form: FileFormat, clock: Clock, lock: TableLock
) -> tuple[WriteStat, ...]:
    """Write the files of a partition, and complete its delta commit. Readers do not use the partition yet.

    Args:
        table: the metadata table, loaded after the last change of its timeline.

    Returns:
        Write stats of the base files.

    Raises:
        LockNotAcquiredError: the lock expired, was removed, or was taken over by another writer.
        ObjectExistsError, InstantExistsError: another writer builds the same partition.
    """
    version = table.config.table_version
    time = first_instant_time(version.layout, table.data_timeline, table.timeline)
    store = table.timeline_store
    pending = store.start(store.request(Action.DELTA_COMMIT, b"", time))
    metafile = join_path(new.name, PARTITION_METAFILE)
    table.storage.create(metafile, encode_partition_metadata(time, 1, clock.now()))
    ids = new.file_ids
    if ids is None:
        ids = tuple(file_group_id(new.name, number) for number in range(new.group_count))
    groups = tuple(FileGroupId(new.name, file_id) for file_id in ids)
    map_in_parallel(partial(write_first_log_file, table.storage, instant_time=time), groups)
    files = NewFiles(storage=table.storage, groups=groups, instant_time=time, form=form)
    stats = tuple(new.write_base_files(files))
    lock.verify()
    metadata = _metadata(new, stats, form, version)
    store.complete(pending, encode_commit_metadata(metadata, version))
    return stats


def _metadata(
    new: NewPartition, stats: tuple[WriteStat, ...], form: FileFormat, version: TableVersion
) -> CommitMetadata:
    is_prepped = version >= TableVersion.V9
    extra = {"schema": form.commit_schema}
    if new.file_ids is None:
        extra[FILE_GROUPS_KEY] = f"{new.name}={new.group_count}"
    return CommitMetadata(
        operation_type=WriteOperation.BULK_INSERT_PREPPED if is_prepped else WriteOperation.BULK_INSERT,
        partition_to_write_stats={new.name: stats} if stats else {},
        extra_metadata=extra,
    )
