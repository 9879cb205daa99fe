"""Plan the deletions of a rollback (MarkerBasedRollbackStrategy, ListingBasedRollbackStrategy; Hudi 1.2).

A rollback plans and deletes only files with the rolled-back instant in their names. In table version 6, a delta commit
may append blocks to a log file of an older slice. Only a rollback block can undo these blocks, so this module refuses
the rollback of such a delta commit; the error names the file.
"""

import re
from collections.abc import Iterable, Mapping

from hudi_table_services.errors import CorruptTableError, MalformedFileNameError, UnsupportedTableError
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_path import may_hold_data
from hudi_table_services.model.table_service_plans import (
    InstantReference,
    RollbackMetadata,
    RollbackPartition,
    RollbackPlan,
    RollbackRequest,
)

_INSTANT_TIME = re.compile(r"\d{14,20}", re.ASCII)


def plan_rollback(
    instant: Instant, data_files: Iterable[str], base_path: str, *, by_listing: bool = False
) -> RollbackPlan:
    """Plan one request per data file, in order of path.

    Args:
        instant: write to roll back.
        data_files: paths of files that the write may have created, relative to the base path; they need not exist.
        base_path: the base path in the form that Hudi writes into plans.
        by_listing: whether the files were found by a listing or in commit metadata, and not by markers. As in Hudi, the
            plan then has no file ids.

    Raises:
        UnsupportedTableError: the instant appended to a log file of an older slice.
        CorruptTableError: a path leads outside the table.
        MalformedFileNameError: a path does not name a data file.
    """
    requests = [_request(instant, path, base_path, by_listing) for path in sorted(set(data_files))]
    reference = InstantReference(requested_time=instant.requested_time, action=instant.action.value)
    return RollbackPlan(instant_to_rollback=reference, requests=tuple(requests))


def _request(instant: Instant, path: str, base_path: str, by_listing: bool) -> RollbackRequest:
    partition_path, _, name = path.rpartition("/")
    if not may_hold_data(path):
        raise CorruptTableError(
            f"{instant.action.value} {instant.requested_time} names {path!r}, which is outside the table's data "
            "folders.",
            hint="Nothing was deleted. Another program may have changed the instant's file or its markers.",
        )
    file_id, instant_time = _file_id_and_instant(name)
    if instant_time != instant.requested_time:
        raise UnsupportedTableError(
            f"{instant.action.value} {instant.requested_time} appended to {path}, which belongs to an older slice.",
            hint="Let a Hudi writer roll this instant back; Hudi appends a rollback block to the log file.",
        )
    return RollbackRequest(
        partition_path=partition_path,
        file_id="" if by_listing else file_id,
        latest_base_instant="" if by_listing else instant_time,
        files_to_delete=(f"{base_path.rstrip('/')}/{path}",),
    )


def _file_id_and_instant(name: str) -> tuple[str, str]:
    try:
        base = BaseFile.from_file_name(name)
        return base.file_id, base.instant_time
    except MalformedFileNameError:
        log = LogFile.from_file_name(name)
        return log.file_id, log.instant_time


def files_to_delete(plan: RollbackPlan) -> Mapping[str, tuple[str, ...]]:
    """Map each partition path to the files that a stored plan deletes, relative to the base path.

    The paths are relative, because the table may have been moved since the plan was written.

    Raises:
        CorruptTableError: the plan names a file outside its partition or outside the table, a file of another instant,
            or a malformed instant time.
        UnsupportedTableError: the plan undoes log blocks.
    """
    undone = plan.instant_to_rollback
    if undone is not None and not _INSTANT_TIME.fullmatch(undone.requested_time):
        raise CorruptTableError(
            f"A rollback plan undoes {undone.requested_time!r}, which is not an instant time; nothing was deleted.",
            hint="Remove the pending rollback with Hudi's command line.",
        )
    found: dict[str, list[str]] = {}
    for request in plan.requests:
        if request.log_blocks_to_delete:
            raise UnsupportedTableError(
                f"The pending rollback of {_undone_time(plan)} undoes log blocks, which this release does not support.",
                hint="Let a Hudi writer finish the rollback.",
            )
        paths = found.setdefault(request.partition_path, [])
        paths += (_relative(plan, request.partition_path, path) for path in request.files_to_delete)
    return {partition_path: tuple(paths) for partition_path, paths in found.items()}


def _relative(plan: RollbackPlan, partition_path: str, absolute: str) -> str:
    name = absolute.rpartition("/")[2]
    path = f"{partition_path}/{name}" if partition_path else name
    is_in_partition = may_hold_data(partition_path) and absolute.endswith(f"/{path}")
    if not is_in_partition or _file_id_and_instant(name)[1] != _undone_time(plan):
        raise CorruptTableError(
            f"The rollback plan of {_undone_time(plan)} names {absolute!r}, which is not a file of that instant in "
            f"partition {partition_path!r}; nothing was deleted.",
            hint="Undo the instant with Hudi's command line.",
        )
    return path


def _undone_time(plan: RollbackPlan) -> str:
    return plan.instant_to_rollback.requested_time if plan.instant_to_rollback else ""


def rollback_metadata(plan: RollbackPlan, rollback_time: str, time_taken_ms: int) -> RollbackMetadata:
    """Return the content of the completed rollback. Files that were never created count as deleted, as in Hudi."""
    partitions: dict[str, RollbackPartition] = {}
    for request in plan.requests:
        known = partitions.get(request.partition_path)
        earlier = known.deleted_files if known else ()
        partitions[request.partition_path] = RollbackPartition(
            partition_path=request.partition_path, deleted_files=earlier + request.files_to_delete
        )
    undone = (plan.instant_to_rollback,) if plan.instant_to_rollback else ()
    return RollbackMetadata(
        start_rollback_time=rollback_time,
        time_taken_ms=time_taken_ms,
        total_files_deleted=sum(len(p.deleted_files) for p in partitions.values()),
        commits_rolled_back=tuple(instant.requested_time for instant in undone),
        partitions=partitions,
        instants_rolled_back=undone,
    )
