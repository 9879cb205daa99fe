"""Write one delta commit of the metadata table: instant files, and one log file for each changed file group."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hudi_table_services.commits.metadata_table.key_logs import KeyChangesOfGroups
from hudi_table_services.commits.metadata_table.new_file_groups import create_file_groups
from hudi_table_services.commits.metadata_table.partitioned_key_logs import PartitionedKeyChanges
from hudi_table_services.commits.metadata_table.secondary_logs import SecondaryKeyChanges
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.metadata_table import file_groups
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES, RECORD_INDEX
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.metadata_table import MetadataChange
from hudi_table_services.model.write_stat import SCHEMA_KEY, CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.metadata_table.grouping import group_changes
from hudi_table_services.storage.metadata_table.file_format import FileFormat, read_file_format
from hudi_table_services.storage.metadata_table.group_files import (
    GroupLog,
    encoded_log,
    write_log_file,
)
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.parallel import map_in_parallel

_LOG = logging.getLogger(__name__)
_NO_CHANGES: Mapping[str, SecondaryKeyChanges] = {}
_NO_SLICES: Mapping[str, tuple[FileSlice, ...]] = {}

ChangesByPartition = Mapping[str, Sequence[MetadataChange]]
"""Maps a partition of the metadata table to the changes of one instant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaCommit:
    """A prepared delta commit. The preparation reads the metadata table; `write_delta_commit` only writes.

    Attributes:
        slices: maps a partition of the metadata table to the newest slice of each of its file groups.
        new_groups: file groups of the record index that the delta commit creates. They are in `slices`, too.
        logs: for each changed file group, a function that returns the changes. Only a few of these functions are called
            at the same time.
    """

    instant_time: str
    form: FileFormat
    slices: Mapping[str, tuple[FileSlice, ...]]
    logs: tuple[Callable[[], GroupLog], ...]
    new_groups: tuple[FileGroupId, ...] = ()


def prepare_delta_commit(
    table: MetadataTable,
    instant_time: str,
    changes: ChangesByPartition,
    key_changes: KeyChangesOfGroups | PartitionedKeyChanges | None = None,
    secondary: Mapping[str, SecondaryKeyChanges] = _NO_CHANGES,
    known: Mapping[str, tuple[FileSlice, ...]] = _NO_SLICES,
) -> DeltaCommit:
    """Assign changes to the current file groups of the metadata table.

    Args:
        changes: changes of all partitions except the record index and secondary indexes.
        key_changes: changes of the record index; None if the metadata table has no record index.
        secondary: maps the name of each changed secondary index to its changes.
        known: newest slices of the partitions that the caller has listed under the lock.

    Raises:
        CorruptTableError: file groups of a partition are missing, or have ids of another kind of index.
        UnsupportedTableError: a partition has no file group.
    """
    partitions = sorted({*changes, *secondary, FILES, *([RECORD_INDEX] if key_changes is not None else [])})
    unlisted = [partition for partition in partitions if partition not in known]
    found = map_in_parallel(lambda partition: partition_slices(table, partition), unlisted)
    slices = {**known, **dict(zip(unlisted, found, strict=True))}
    grouped = [
        change
        for partition in sorted(changes)
        for change in group_changes(partition, changes[partition], len(slices[partition]))
    ]
    form = read_file_format(table, slices[FILES])
    logs: list[Callable[[], GroupLog]] = [partial(encoded_log, change, form) for change in grouped]
    created: tuple[FileGroupId, ...] = ()
    if key_changes is not None:
        created = key_changes.new_groups(slices[RECORD_INDEX])
        new = (FileSlice(file_group_id=group, base_instant_time=instant_time) for group in created)
        slices[RECORD_INDEX] = (*slices[RECORD_INDEX], *new)
        logs += key_changes.logs(form, slices[RECORD_INDEX])
    for name, found_changes in secondary.items():
        logs += found_changes.logs(form, len(slices[name]))
    return DeltaCommit(
        instant_time=instant_time, form=form, slices=slices, logs=tuple(logs), new_groups=created
    )


def write_delta_commit(table: MetadataTable, commit: DeltaCommit) -> Instant:
    """Write and complete the delta commit. Call this function under the table lock.

    Readers ignore the delta commit while the instant of the table is pending.

    Raises:
        InstantExistsError, ObjectExistsError: another process is writing the same instant.
    """
    store = table.timeline_store
    instant = store.begin(Action.DELTA_COMMIT, commit.instant_time)
    slices = {each.file_group_id: each for found in commit.slices.values() for each in found}
    if commit.new_groups:
        create_file_groups(table, commit.new_groups, commit.instant_time)
    written = map_in_parallel(lambda log: _write(table, commit, slices, log()), commit.logs)
    stats = [stat for stat in written if stat is not None]
    completed = store.complete(instant, _content(table, commit, stats))
    _LOG.info(
        "Wrote %s to the metadata table: %s, %s, %s",
        commit.instant_time,
        counted(sum(stat.num_writes for stat in stats), "record"),
        counted(sum(stat.num_deletes for stat in stats), "deletion"),
        counted(len(stats), "log file"),
    )
    return completed


def _write(
    table: MetadataTable, commit: DeltaCommit, slices: Mapping[FileGroupId, FileSlice], change: GroupLog
) -> WriteStat | None:
    """Write one log file; None if the file group has no changes."""
    if not change.entry_count and not change.deleted_keys:
        return None
    group = change.file_group_id
    found = slices.get(group)
    if found is None:
        number = file_groups.file_group_number(group.file_id)
        raise UnsupportedTableError(
            f"The partition {group.partition_path!r} of the metadata table has no file group {number}.",
            hint="Rebuild this partition of the metadata table with rebuild_metadata_table.py.",
        )
    return write_log_file(table.storage, found, change, commit.instant_time, commit.form)


def _content(table: MetadataTable, commit: DeltaCommit, stats: Sequence[WriteStat]) -> bytes:
    by_partition: dict[str, tuple[WriteStat, ...]] = {}
    for stat in stats:
        by_partition[stat.partition_path] = (*by_partition.get(stat.partition_path, ()), stat)
    metadata = CommitMetadata(
        operation_type=WriteOperation.UPSERT_PREPPED,
        partition_to_write_stats=by_partition,
        extra_metadata={SCHEMA_KEY: commit.form.commit_schema},
    )
    return encode_commit_metadata(metadata, table.config.table_version)
