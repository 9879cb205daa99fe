"""Clean the metadata table: delete file slices that newer slices have replaced.

As in Hudi, the clean is an instant of the metadata table's timeline with the plan and the result.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hudi_table_services.commits.instants import begin_clean
from hudi_table_services.commits.metadata_table_services.opened_services import OpenedServices
from hudi_table_services.hudi_format.table_service_plans import encode_clean_metadata, encode_clean_plan
from hudi_table_services.model.cleaning import CleanPolicy
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import CleanFile, CleanPlan
from hudi_table_services.planning.cleaning.stored_plan import clean_metadata, planned_names
from hudi_table_services.planning.metadata_table.upkeep import superseded_slices
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.metadata_table.slice_history import slice_history
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.tables.clean_history import PendingClean

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CleanedMetadataTable:
    """A completed clean of the metadata table, and the number of files that it deleted."""

    instant: Instant
    files: int


def clean(services: OpenedServices, instant_time: str) -> CleanedMetadataTable | None:
    """Plan a clean and carry it out. Returns None if no file slice is outdated.

    Raises:
        HudiTableServiceError: the clean may be pending; `finish_clean` finishes it.
    """
    metadata = services.metadata
    outdated = [
        file_slice
        for partition in metadata.partitions
        for file_slice in superseded_slices(slice_history(metadata, partition))
    ]
    if not outdated:
        return None
    plan = _plan(services, outdated)
    pending = services.request(Action.CLEAN, encode_clean_plan(plan), instant_time)
    return finish_clean(services, PendingClean(pending, plan))


def finish_clean(services: OpenedServices, pending: PendingClean) -> CleanedMetadataTable:
    """Carry out a stored plan of this project or of Hudi.

    Files of the newest slices are kept even if the plan names them. A file that cannot be deleted is recorded as
    failed. The clean after the next compaction finds the file again.

    Raises:
        CorruptTableError: the plan names a path that is not a data file; nothing was deleted.
        HudiTableServiceError: the clean is still pending.
    """
    started = time.monotonic()
    planned = planned_names(pending.plan)
    kept = _newest_names(services, planned)
    instant = pending.instant
    if instant.state is InstantState.REQUESTED:
        instant = begin_clean(services.own_table, instant)
    chosen = {path: [name for name in names if name not in kept] for path, names in planned.items()}
    deleted, failed = _delete(services, chosen)
    result = clean_metadata(
        pending.plan,
        start_time=instant.requested_time,
        time_taken_ms=int((time.monotonic() - started) * 1000),
        deleted=deleted,
        failed=failed,
        emptied=(),
    )
    completed = services.complete(instant, encode_clean_metadata(result))
    _LOG.info(
        "Deleted %d files of the metadata table at %s", result.total_files_deleted, completed.requested_time
    )
    return CleanedMetadataTable(completed, result.total_files_deleted)


def _plan(services: OpenedServices, outdated: Iterable[FileSlice]) -> CleanPlan:
    metadata = services.metadata
    files: dict[str, list[CleanFile]] = defaultdict(list)
    for file_slice in outdated:
        partition = file_slice.file_group_id.partition_path
        base = () if file_slice.base_file is None else (file_slice.base_file,)
        for file in (*base, *file_slice.log_files):
            path = join_path(metadata.storage.base_path, join_path(partition, file.file_name))
            files[partition].append(CleanFile(path=path))
    writes = metadata.timeline.completed_writes
    return CleanPlan(
        policy=CleanPolicy.KEEP_LATEST_FILE_VERSIONS.value,
        last_completed_commit_time=writes[-1].requested_time if writes else "",
        files_to_delete={path: tuple(found) for path, found in files.items()},
    )


def _newest_names(services: OpenedServices, partitions: Iterable[str]) -> frozenset[str]:
    """Names of the files that readers use now. An old plan can contain such files if a compaction was undone."""
    slices = [found for path in partitions for found in partition_slices(services.metadata, path)]
    bases = {each.base_file.file_name for each in slices if each.base_file is not None}
    return frozenset(bases | {log.file_name for each in slices for log in each.log_files})


def _delete(
    services: OpenedServices, chosen: Mapping[str, list[str]]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Delete files. Returns the deleted and the failed files by partition; a missing file counts as deleted."""
    deleted: dict[str, list[str]] = {}
    failed: dict[str, list[str]] = {}
    for partition, names in chosen.items():
        services.verify_lock()
        failures = services.metadata.storage.delete_files([join_path(partition, name) for name in names])
        for path, error in failures.items():
            _LOG.warning("%s of the metadata table was not deleted: %s", path, error)
        deleted[partition] = [name for name in names if join_path(partition, name) not in failures]
        failed[partition] = [name for name in names if join_path(partition, name) in failures]
    return deleted, failed
