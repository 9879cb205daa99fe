"""Find the files of a write that is to be undone, and plan their deletion. This module changes nothing.

In table version 6, the names of log files do not contain the instant of their delta commit. So the markers or the
commit metadata show which file slices the write changed, and the headers of the blocks in the log files of these slices
show the instants.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import filterfalse

from hudi_table_services.errors import MalformedFileNameError, ObjectNotFoundError, UnsupportedTableError
from hudi_table_services.hudi_format.markers import Marker, MarkerKind
from hudi_table_services.model.data_file import BaseFile, LogFile, instant_in_file_name
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import RollbackPlan
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.planning.recovery.rollback_plan import AppendedLog, plan_rollback
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.log_files.block_instants import BlockInstants, block_instants
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.pending_plans import planned_file_paths
from hudi_table_services.storage.stores.storage import Storage, StoredObject
from hudi_table_services.tables.clean_history import savepointed_paths
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)

_Slice = tuple[str, str, str]
"""Partition path, file id and base instant time of a file slice."""


def plan_of(
    table: TableAccess, instant: Instant, *, whole_slice: bool = False, undone: Collection[str] = ()
) -> RollbackPlan:
    """Plan the deletion of the files of a write that is to be undone. Nothing is changed.

    The files of a pending write are found by its markers, or by their names. The files of a completed write are found
    in its metadata. Speculative tasks may have left more files in the same partitions; these are found by their names.

    A compaction itself writes only base files. In table version 6, delta commits wrote the log files with the
    compaction's instant in their names. If the compaction is removed from the timeline, these log files must be
    deleted, because they would form file slices without a base file.

    Args:
        whole_slice: whether a pending compaction is removed with its plan. A completed compaction is always removed.
            Before you carry out a rollback plan that removes a compaction, call `require_undone_logs`.
        undone: see `kept_paths`.

    Raises:
        UnsupportedTableError: the write appended to log files of older file slices, although the table is no
            merge-on-read table.
        MalformedMetadataError: a log file is damaged, so it is not known which instants wrote it.
    """
    base_path = table.storage.base_path
    metadata = _metadata(table, instant)
    if is_compaction(instant, metadata):
        return _plan_of_compaction(table, instant, whole_slice=whole_slice or instant.is_completed)
    if appends_to_slices(table):
        return _plan_with_logs(table, instant, metadata, undone)
    if metadata is not None:
        return plan_rollback(instant, _committed_files(table, instant, metadata), base_path, by_listing=True)
    marked = frozenset(marker.data_file_path for marker in _markers(table.storage, instant))
    if marked or instant.state is InstantState.REQUESTED:
        return plan_rollback(instant, marked, base_path)
    # An inflight write without markers may have written files. Hudi would never delete them. Search for their names.
    listed = files_named_after(table.storage, instant)
    return plan_rollback(instant, listed, base_path, by_listing=True)


def _plan_of_compaction(table: TableAccess, instant: Instant, *, whole_slice: bool) -> RollbackPlan:
    files = files_named_after(table.storage, instant)
    deleted = set(filter(is_base_file, files))
    if whole_slice and appends_to_slices(table):
        deleted |= set(files)
    return plan_rollback(instant, deleted, table.storage.base_path, by_listing=True)


def require_undone_logs(table: TableAccess, chosen: Collection[Instant]) -> None:
    """Refuse to undo a write of table version 6 if other writes have added visible log files to its file slices.

    Args:
        chosen: instants that are going to be undone, in any order.

    Raises:
        UnsupportedTableError: a log file with a chosen instant in its name contains visible blocks of a write that is
            not chosen. This write can have an earlier requested time, because a writer of Hudi chooses its requested
            time before it reads the table.
    """
    if not appends_to_slices(table):
        return
    timeline = table.load_timeline()
    visibility = Visibility.of(timeline, has_own_log_instants=False)
    undone = {i.requested_time for i in chosen}
    for instant in chosen:
        metadata = _metadata(table, instant)
        if metadata is None and instant.action is not Action.COMPACTION:
            continue  # no other writer saw its file slices
        partitions = None if metadata is None else metadata.partition_to_write_stats
        for path in filterfalse(is_base_file, files_named_after(table.storage, instant, partitions)):
            found = block_instants(table.storage, path)
            seen = [t for t in found.writers - found.undone_after - undone if visibility.sees(t)]
            if seen:
                raise UnsupportedTableError(
                    f"{instant.action.value} {instant.requested_time} cannot be undone: {path}, a log file of its file "
                    f"slice, contains rows of {min(seen)}, which readers would no longer see.",
                    hint="Nothing was undone. Compact the table first, or write the rows again.",
                )


def _metadata(table: TableAccess, instant: Instant) -> CommitMetadata | None:
    return table.timeline_store.commit_metadata(instant) if instant.is_completed else None


def appends_to_slices(table: TableAccess) -> bool:
    """Whether the names of log files contain the base instant of their slice, and not the instant that wrote them."""
    config = table.config
    return config.table_type is TableType.MERGE_ON_READ and not config.table_version.has_own_log_instants


def is_compaction(instant: Instant, metadata: CommitMetadata | None) -> bool:
    """Whether an instant is a compaction. `metadata` is the metadata of a completed instant."""
    if metadata is None:
        return instant.action is Action.COMPACTION
    return instant.action is Action.COMMIT and metadata.operation_type is WriteOperation.COMPACT


def kept_paths(table: TableAccess, undone: Collection[str] = ()) -> frozenset[str]:
    """Paths of log files of table version 6 that a rollback does not delete, although it undoes all of their blocks.

    These are the files that savepoints list, and the files that pending plans name: if such a file were missing,
    neither Hudi nor this project could execute the plan.

    Args:
        undone: requested times of plans whose files are left out, because the job undoes the plans, too.
    """
    timeline, store = table.load_timeline(), table.timeline_store
    planned = (
        path
        for plan in timeline.pending
        if plan.requested_time not in undone
        for path in planned_file_paths(store, plan)
    )
    return savepointed_paths(table, timeline) | frozenset(planned)


def _plan_with_logs(
    table: TableAccess, instant: Instant, metadata: CommitMetadata | None, undone: Collection[str]
) -> RollbackPlan:
    """Plan for a write of table version 6 that may have written log files."""
    kept = kept_paths(table, undone)
    storage, base_path = table.storage, table.storage.base_path
    if metadata is not None:
        files = _committed_files(table, instant, metadata)
        slices = {found for path in files if (found := _slice_of_log(path)) is not None}
        logs = _appended_logs(table, instant, slices, frozenset(), kept)
        return plan_rollback(instant, filter(is_base_file, files), base_path, by_listing=True, logs=logs)
    markers = _markers(storage, instant)
    if markers or instant.state is InstantState.REQUESTED:
        appended = [marker for marker in markers if marker.kind is MarkerKind.APPEND]
        slices = {found for marker in appended if (found := _marked_slice(marker)) is not None}
        marked = frozenset(m.data_file_path for m in appended)
        logs = _appended_logs(table, instant, slices, marked, kept)
        created = {marker.data_file_path for marker in markers} - marked
        return plan_rollback(instant, created, base_path, logs=logs)
    listed = list_partitions(storage)
    files = frozenset(stored.path for found in listed.values() for stored in _of_instant(found, instant))
    every = (stored for found in listed.values() for stored in found)
    logs = _logs_with_blocks(table, instant, every, frozenset(), kept)
    return plan_rollback(instant, filter(is_base_file, files), base_path, by_listing=True, logs=logs)


def _appended_logs(
    table: TableAccess,
    instant: Instant,
    slices: Collection[_Slice],
    marked: Collection[str],
    kept: Collection[str],
) -> tuple[AppendedLog, ...]:
    """The log files of these slices that contain blocks of the instant.

    Args:
        marked: paths in append markers. A marked file without a complete block belongs to the instant.
        kept: the result of `kept_paths`.
    """
    if not slices:
        return ()
    listed = list_partitions(table.storage, {partition_path for partition_path, _, _ in slices})
    files = (stored for found in listed.values() for stored in found if _slice_of_log(stored.path) in slices)
    return _logs_with_blocks(table, instant, files, marked, kept)


def _logs_with_blocks(
    table: TableAccess,
    instant: Instant,
    files: Iterable[StoredObject],
    marked: Collection[str],
    kept: Collection[str],
) -> tuple[AppendedLog, ...]:
    logs = [stored for stored in files if _slice_of_log(stored.path) is not None]
    read = map_in_parallel(lambda stored: _block_instants(table.storage, stored), logs)
    time = instant.requested_time
    return tuple(
        AppendedLog(
            path=stored.path,
            size_bytes=stored.size_bytes,
            is_deletable=found.belongs_to(time) and stored.path not in kept,
        )
        for stored, found in zip(logs, read, strict=True)
        if found is not None
        and (time in found.writers - found.undone_after or (not found.writers and stored.path in marked))
    )


def _block_instants(storage: Storage, stored: StoredObject) -> BlockInstants | None:
    """Instants of a log file; None if another job has deleted the file."""
    try:
        return block_instants(storage, stored.path, stored.size_bytes)
    except ObjectNotFoundError:
        return None


def _markers(storage: Storage, instant: Instant) -> tuple[Marker, ...]:
    try:
        return MarkerStore(storage, instant.requested_time).markers()
    except MalformedFileNameError as error:
        _LOG.warning(
            "Listing the files of %s, because a marker is damaged: %s", instant.requested_time, error
        )
        return ()


def _marked_slice(marker: Marker) -> _Slice | None:
    """The slice that an append marker names: by a log file or, before Hudi 0.15, by a base file that does not exist."""
    partition_path, _, name = marker.data_file_path.rpartition("/")
    try:
        base = BaseFile.from_file_name(name)
    except MalformedFileNameError:
        return _slice_of_log(marker.data_file_path)
    return partition_path, base.file_id, base.instant_time


def _slice_of_log(path: str) -> _Slice | None:
    """The slice in the name of a log file; None for other files."""
    partition_path, _, name = path.rpartition("/")
    log = LogFile.parse_or_none(name)
    return None if log is None else (partition_path, log.file_id, log.instant_time)


def is_base_file(path: str) -> bool:
    """Whether a path has the name of a base file."""
    try:
        BaseFile.from_file_name(path.rpartition("/")[2])
    except MalformedFileNameError:
        return False
    return True


def _committed_files(table: TableAccess, instant: Instant, metadata: CommitMetadata) -> frozenset[str]:
    paths = {stat.path for stat in metadata.write_stats if stat.path}
    listed = files_named_after(table.storage, instant, metadata.partition_to_write_stats)
    return frozenset({*paths, *listed})


def files_named_after(
    storage: Storage, instant: Instant, partitions: Collection[str] | None = None
) -> tuple[str, ...]:
    """Return the paths of the data files with the time of the instant in their names; None means all partitions."""
    by_folder: dict[str, list[str]] = defaultdict(list)
    for folder, files in list_partitions(storage, partitions).items():
        by_folder[folder] += (stored.path for stored in _of_instant(files, instant))
    return tuple(path for found in by_folder.values() for path in found)


def _of_instant(files: Iterable[StoredObject], instant: Instant) -> Iterator[StoredObject]:
    return (stored for stored in files if instant_in_file_name(stored.name) == instant.requested_time)
