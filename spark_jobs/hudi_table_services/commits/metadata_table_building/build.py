"""Build partitions of a metadata table, and list each complete partition in the properties of the table."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from hudi_table_services.commits.metadata_table_building.leftovers import remove_leftovers
from hudi_table_services.commits.metadata_table_building.lost_partitions import forget_lost, remember_dropped
from hudi_table_services.commits.metadata_table_building.new_partition import NewPartition, write_partition
from hudi_table_services.commits.metadata_table_building.pending_check import refuse_pending_writes
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import CommitConflictError
from hudi_table_services.hudi_format.metadata_table import index_definitions
from hudi_table_services.hudi_format.metadata_table.properties import metadata_table_properties
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.metadata_table.build_plan import BuildPlan
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.metadata_table.file_format import (
    FileFormat,
    new_file_format,
    read_file_format,
)
from hudi_table_services.storage.metadata_table.folder_storage import FolderStorage
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.table_store import (
    INFLIGHT_METADATA_PARTITIONS,
    METADATA_PARTITIONS,
    METADATA_TABLE,
    create_table,
    disable_metadata_table,
    read_table_config,
    update_properties,
)
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_MILLISECOND = timedelta(milliseconds=1)
_DEFINITIONS_PATH = "hoodie.table.index.defs.path"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPartition:
    """A partition that a build completed.

    Attributes:
        records: number of its records.
        size_bytes: size of its base files.
    """

    name: str
    file_groups: int
    records: int
    size_bytes: int


def build_partitions(
    table: TableAccess,
    plan: BuildPlan,
    known: Timeline,
    partition: Callable[[str], NewPartition],
    lock: TableLock,
) -> tuple[BuiltPartition, ...]:
    """Build the partitions of a plan. Call this under the table lock.

    Partitions that exist are removed first. Readers use a partition as soon as it is complete. If the build dies, the
    properties do not list the incomplete partitions; the next build deletes their files and instants, and builds the
    removed partitions again (`lost_partitions`).

    Args:
        known: timeline of the table as it was when the files of the table were read.
        partition: function that returns the partition to build for a given name.

    Raises:
        PendingPlanError: a write is pending in the table.
        CommitConflictError: another writer changed the table although this job has the lock.
        LockNotAcquiredError: the lock expired, was removed, or was taken over by another writer.
    """
    refuse_pending_writes(table, known)
    _refuse_changes(table, known)
    lock.verify()
    form = _prepare(table, plan)
    built = []
    for name in plan.partitions:
        new = partition(name)
        opened = _open(table)
        stats = write_partition(opened, new, form, table.clock, lock)
        _define(table, [new.definition] if new.definition is not None else [])
        _refuse_changes(table, known)
        lock.verify()
        _list_partition(table, name)
        built.append(
            BuiltPartition(
                name=name,
                file_groups=new.group_count,
                records=sum(stat.num_writes for stat in stats),
                size_bytes=sum(stat.file_size_bytes for stat in stats),
            )
        )
        _LOG.info("Built partition %s of the metadata table: %s.", name, counted(built[-1].records, "record"))
    forget_lost(table.storage, plan.partitions)
    return tuple(built)


def _prepare(table: TableAccess, plan: BuildPlan) -> FileFormat:
    """Remove the partitions that exist, and create the metadata table if the plan builds the whole metadata table."""
    config = read_table_config(table.storage)
    replaced = [name for name in config.metadata_partitions if plan.is_whole or name in plan.partitions]
    if replaced:
        remember_dropped(table.storage, replaced)
    if plan.is_whole:
        disable_metadata_table(table.storage, config, table.clock)
        properties = metadata_table_properties(config.table_name, config.table_version)
        create_table(FolderStorage(table.storage, METADATA_TABLE), properties, table.clock)
        return new_file_format(config.table_version)
    kept = [name for name in config.metadata_partitions if name not in plan.partitions]
    if len(kept) < len(config.metadata_partitions):
        update_properties(table.storage, {METADATA_PARTITIONS: ",".join(kept)}, table.clock)
    opened = _open(table)
    remove_leftovers(opened, plan.partitions)
    return read_file_format(_open(table))


def _open(table: TableAccess) -> MetadataTable:
    return open_metadata_table(table.storage, read_table_config(table.storage), table.clock)


def _define(table: TableAccess, definitions: Iterable[IndexDefinition]) -> None:
    """Add definitions of indexes to the stored definitions."""
    stored = read_index_definitions(table.storage)
    changed = {**stored, **{definition.name: definition for definition in definitions}}
    if changed == stored:
        return
    table.storage.write(index_definitions.PATH, index_definitions.encode_index_definitions(changed))
    update_properties(table.storage, {_DEFINITIONS_PATH: index_definitions.PATH}, table.clock)


def _list_partition(table: TableAccess, name: str) -> None:
    config = read_table_config(table.storage)
    names = ",".join(sorted({*config.metadata_partitions, name}))
    inflight = ",".join(config.inflight_metadata_partitions)
    changes = {METADATA_PARTITIONS: names, INFLIGHT_METADATA_PARTITIONS: inflight}
    update_properties(table.storage, changes, table.clock)


def _refuse_changes(table: TableAccess, known: Timeline) -> None:
    """Raise an error if a writer with another lock completed a write, whose files the partitions would not list."""
    found = [i for i in table.load_timeline().completed if i not in known.completed]
    if found:
        raise CommitConflictError(
            f"Another writer completed {found[0].action.value} {found[0].requested_time} although this job has the "
            "table lock.",
            hint="Configure all writers of the table to use the same lock, and run the request again.",
        )
