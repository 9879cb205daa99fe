"""Compact the metadata table: replace file slices that have log files with new base files.

A pending compaction is finished under its own instant, whether this project or Hudi planned it. In table version 6, a
pending compaction must be finished before the next delta commit, which would append to slices that the compaction
replaces.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from hudi_table_services.commits.metadata_table_services.opened_services import OpenedServices
from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.hudi_format.metadata_table.file_groups import PARTITION_STATS
from hudi_table_services.hudi_format.table_service_plans import decode_compaction_plan, encode_compaction_plan
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import CompactionOperation, CompactionPlan
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.metadata_table.checked_partition import CheckedPartition
from hudi_table_services.storage.metadata_table.file_format import FileFormat, read_file_format
from hudi_table_services.storage.metadata_table.group_files import new_base_file, write_base_entries
from hudi_table_services.storage.metadata_table.log_changes import NoKeys
from hudi_table_services.storage.metadata_table.merged_entries import merged_entries
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.table_store import METADATA_TABLE
from hudi_table_services.tables.metadata_table import refusing_unusable, require_intact

_LOG = logging.getLogger(__name__)
_SCHEMA_KEY = "schema"
_MARKERS = ".hoodie/.temp"


def compact(services: OpenedServices, instant_time: str) -> Instant | None:
    """Plan a compaction and carry it out. Returns None if no file slice has log files.

    Raises:
        CorruptTableError: the metadata table is damaged; nothing was changed.
        HudiTableServiceError: the compaction may be pending; `finish_compaction` finishes it.
    """
    checked = require_intact(services.metadata)
    slices = slices_to_compact(services.metadata, checked, instant_time)
    if not slices:
        return None
    _require_blocks(checked, slices)
    plan = CompactionPlan(
        operations=tuple(map(_operation, slices)), version=2, preserve_hoodie_metadata=False
    )
    pending = services.request(Action.COMPACTION, encode_compaction_plan(plan), instant_time)
    services.metadata.timeline_store.start(pending)
    return _carry_out(services, pending, checked, slices)


def finish_compaction(services: OpenedServices, pending: Instant) -> Instant | None:
    """Finish a pending compaction of this project or of Hudi. Files that a dead execution wrote are written again.

    The plan determines only the file groups that are compacted. The compaction does not use the lists of log files in
    the plan, because in table version 6 a writer may have appended a log file after the plan was made. It merges the
    log files that readers assign to the slices before the compaction.

    Returns:
        The completed compaction; None if its writer died before it wrote the plan. In that case, the instant is
        removed.

    Raises:
        CorruptTableError: the metadata table is damaged; nothing was changed.
        HudiTableServiceError: the compaction is still pending.
    """
    store = services.metadata.timeline_store
    planned = _planned_groups(services.metadata, pending)
    if planned is None:
        services.verify_lock()
        store.remove(pending)
        _LOG.warning(
            "Removed compaction %s of the metadata table, which has no plan.", pending.requested_time
        )
        return None
    checked = _checked_before(services.metadata, pending)
    _remove_written(services, pending.requested_time, planned)
    if pending.state is InstantState.REQUESTED:
        store.start(pending)
    found = slices_to_compact(services.metadata, checked, pending.requested_time)
    return _carry_out(services, pending, checked, [each for each in found if each.file_group_id in planned])


def require_finishable(metadata: MetadataTable) -> None:
    """In table version 6, check that no damage prevents `finish_compaction`, which precedes each change of the table.

    Call this before a job writes data. Without a pending compaction, the function reads nothing.

    Raises:
        CorruptTableError: the metadata table is damaged.
    """
    if metadata.has_own_log_instants:
        return
    for pending in metadata.timeline.pending:
        if pending.action is not Action.COMPACTION:
            continue
        planned = _planned_groups(metadata, pending)
        if planned is not None:
            checked = _checked_before(metadata, pending)
            slices = slices_to_compact(metadata, checked, pending.requested_time)
            _require_blocks(checked, [each for each in slices if each.file_group_id in planned])


def _planned_groups(metadata: MetadataTable, pending: Instant) -> frozenset[FileGroupId] | None:
    """The file groups in the plan of a compaction; None if its writer died before it wrote the plan."""
    content = metadata.timeline_store.read_requested(pending)
    if not content:
        return None
    with naming(join_path(METADATA_TABLE, metadata.timeline_store.requested_path_of(pending))):
        operations = decode_compaction_plan(content).operations
    return frozenset(FileGroupId(each.partition_path, each.file_id) for each in operations)


def _checked_before(metadata: MetadataTable, pending: Instant) -> Mapping[str, CheckedPartition]:
    """The checked partitions. In table version 6, `log_instants` has only the instants before a pending compaction."""
    checked = require_intact(metadata)
    if metadata.has_own_log_instants:
        return checked
    # Log files of writes after the plan can belong to the slice that the compaction creates, so the slices that it
    # merges can lack their blocks. The requested time of the plan is the time of the last write before the plan, with
    # three more digits. So the writes before the plan are those with an earlier time.
    return {name: _written_before(pending.requested_time, each) for name, each in checked.items()}


def _written_before(instant_time: str, partition: CheckedPartition) -> CheckedPartition:
    instants = {
        group: frozenset(time for time in times if time < instant_time)
        for group, times in partition.log_instants.items()
    }
    return replace(partition, log_instants=instants)


def _require_blocks(checked: Mapping[str, CheckedPartition], slices: Iterable[FileSlice]) -> None:
    """Raise CorruptTableError if a log file of a slice lacks the block of an instant that wrote the file.

    A compaction calls this before its request, because any later writer, including Hudi, finishes a pending compaction.
    """
    with refusing_unusable():
        for file_slice in slices:
            checked[file_slice.file_group_id.partition_path].changes_of(file_slice, NoKeys())


def slices_to_compact(
    metadata: MetadataTable, checked: Mapping[str, CheckedPartition], instant_time: str
) -> list[FileSlice]:
    """Return the newest slices that have log files from before an instant, each with only these log files.

    Partitions that a writer is building are left out, as in Hudi.
    """
    visibility = Visibility.of(metadata.timeline, has_own_log_instants=metadata.has_own_log_instants)
    found = []
    for partition in checked.values():
        for file_slice in partition.slices:
            logs = tuple(
                log
                for log in file_slice.log_files
                if visibility.visible_from(log.instant_time) < instant_time
            )
            if partition.name == PARTITION_STATS:
                # The newest statistics are those of the commit that completed last; see `overtaken_statistics`.
                logs = tuple(sorted(logs, key=lambda log: visibility.visible_from(log.instant_time)))
            if logs and file_slice.base_instant_time < instant_time:
                found.append(replace(file_slice, log_files=logs))
    return found


def _carry_out(
    services: OpenedServices,
    pending: Instant,
    checked: Mapping[str, CheckedPartition],
    slices: Collection[FileSlice],
) -> Instant:
    form = read_file_format(services.metadata)
    stats: dict[str, list[WriteStat]] = defaultdict(list)
    with refusing_unusable():
        for stat in _written(services, checked, slices, pending.requested_time, form):
            stats[stat.partition_path].append(stat)
    metadata = CommitMetadata(
        operation_type=WriteOperation.COMPACT,
        partition_to_write_stats={path: tuple(found) for path, found in stats.items()},
        extra_metadata={_SCHEMA_KEY: form.commit_schema},
        compacted=True,
    )
    completed = services.complete(pending, services.encoded(metadata))
    _LOG.info("Compacted %d file groups of the metadata table at %s", len(slices), completed.requested_time)
    return completed


def _written(
    services: OpenedServices,
    checked: Mapping[str, CheckedPartition],
    slices: Iterable[FileSlice],
    instant_time: str,
    form: FileFormat,
) -> Iterator[WriteStat]:
    for file_slice in slices:
        group = file_slice.file_group_id
        base = new_base_file(group, instant_time)
        entries = merged_entries(checked[group.partition_path], file_slice, form.schema, base.file_name)
        before = file_slice.base_file
        stat = write_base_entries(
            services.metadata.storage,
            group,
            base,
            entries,
            form,
            prev_commit=before.instant_time if before is not None else NEW_FILE_GROUP,
        )
        yield replace(stat, prev_base_file=_name_before(services, file_slice), extra=_log_counts(file_slice))


def _name_before(services: OpenedServices, file_slice: FileSlice) -> str | None:
    """Name of the previous base file; None if there is none, or in table version 6, which does not store the name."""
    if file_slice.base_file is None or not services.metadata.has_own_log_instants:
        return None
    return file_slice.base_file.file_name


def _log_counts(file_slice: FileSlice) -> dict[str, object]:
    logs = file_slice.log_files
    return {"totalLogFilesCompacted": len(logs), "totalLogSizeCompacted": sum(log.size_bytes for log in logs)}


def _operation(file_slice: FileSlice) -> CompactionOperation:
    group, base = file_slice.file_group_id, file_slice.base_file
    logs = file_slice.log_files
    return CompactionOperation(
        base_instant_time=file_slice.base_instant_time,
        file_id=group.file_id,
        partition_path=group.partition_path,
        data_file_path=base.file_name if base is not None else None,
        delta_file_paths=tuple(log.file_name for log in logs),
        metrics={
            "TOTAL_LOG_FILES": float(len(logs)),
            "TOTAL_LOG_FILES_SIZE": float(sum(log.size_bytes for log in logs)),
        },
        bootstrap_file_path=None,
    )


def _remove_written(services: OpenedServices, instant_time: str, groups: Collection[FileGroupId]) -> None:
    """Delete the base files and the markers that a dead execution of the plan left. Readers do not see these files."""
    storage = services.metadata.storage
    paths = [
        join_path(partition, stored.name)
        for partition in sorted({group.partition_path for group in groups})
        for stored in storage.list_folder(partition).files
        if _is_base_file_of(stored.name, instant_time)
    ]
    services.verify_lock()
    for path in paths:
        storage.delete(path)
        _LOG.info("Deleted %s of the metadata table, which a dead compaction left.", path)
    storage.delete_folder(join_path(_MARKERS, instant_time))


def _is_base_file_of(name: str, instant_time: str) -> bool:
    with suppress(MalformedFileNameError):
        return BaseFile.from_file_name(name).instant_time == instant_time
    return False
