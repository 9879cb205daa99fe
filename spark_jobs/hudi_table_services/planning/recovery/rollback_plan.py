"""Plan the deletions of a rollback (MarkerBasedRollbackStrategy, ListingBasedRollbackStrategy; Hudi 1.2).

A rollback deletes the files with the rolled-back instant in their names. In table version 6, the name of a log file
contains the base instant of its slice, so a delta commit writes log files with the names of older slices. Hudi always
adds a rollback block to such a slice. If a log file contains only blocks of the rolled-back instant, this module plans
to delete the file. So no reader can treat its blocks as committed after archival, when the instant is older than the
active timeline. If other instants wrote blocks of the same file, or if a savepoint or a pending plan lists the file, a
rollback block removes the blocks instead.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedLog:
    """A log file of table version 6 with blocks of the write to undo.

    Attributes:
        path: path relative to the base path.
        is_deletable: whether the file contains only blocks of this write, and no savepoint or pending plan lists the
            file.
    """

    path: str
    size_bytes: int
    is_deletable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBlocks:
    """Blocks in the log files of one slice that a stored plan undoes by a rollback block (table version 6).

    Attributes:
        names: names of the log files that the plan lists. Later log files of the slice can contain blocks, too.
    """

    partition_path: str
    file_id: str
    base_instant_time: str
    names: tuple[str, ...]


def plan_rollback(
    instant: Instant,
    data_files: Iterable[str],
    base_path: str,
    *,
    by_listing: bool = False,
    logs: Collection[AppendedLog] = (),
) -> RollbackPlan:
    """Plan one request per data file, in order of path.

    Args:
        instant: write to roll back.
        data_files: paths of files that the write may have created, relative to the base path; they need not exist.
        base_path: the base path in the form that Hudi writes into plans.
        by_listing: whether the files were found by a listing or in commit metadata, and not by markers. As in Hudi, the
            plan then has no file ids.
        logs: log files with the names of older slices; only in table version 6.

    Raises:
        UnsupportedTableError: one of `data_files` is a log file of an older slice, to which the instant appended.
        CorruptTableError: a path leads outside the table.
        MalformedFileNameError: a path does not name a data file.
    """
    requests = [_request(instant, path, base_path, by_listing) for path in sorted(set(data_files))]
    requests += (_log_request(log, base_path) for log in sorted(logs, key=lambda log: log.path))
    reference = InstantReference(requested_time=instant.requested_time, action=instant.action.value)
    return RollbackPlan(instant_to_rollback=reference, requests=tuple(requests))


def _log_request(log: AppendedLog, base_path: str) -> RollbackRequest:
    partition_path, _, name = log.path.rpartition("/")
    absolute = f"{base_path.rstrip('/')}/{log.path}"
    if log.is_deletable:
        return RollbackRequest(partition_path=partition_path, files_to_delete=(absolute,))
    file_id, base_instant_time = _file_id_and_instant(name)
    return RollbackRequest(
        partition_path=partition_path,
        file_id=file_id,
        latest_base_instant=base_instant_time,
        log_blocks_to_delete={absolute: log.size_bytes},
    )


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

    The paths are relative, because the table may have been moved since the plan was written. Log files with the names
    of other slices are left out: `appended_logs_to_delete` returns them.

    Raises:
        CorruptTableError: the plan names a file outside its partition or outside the table, a base file of another
            instant, or a malformed instant time.
    """
    undone = plan.instant_to_rollback
    if undone is not None and not _INSTANT_TIME.fullmatch(undone.requested_time):
        raise CorruptTableError(
            f"A rollback plan undoes {undone.requested_time!r}, which is not an instant time; nothing was deleted.",
            hint="Remove the pending rollback with Hudi's command line.",
        )
    found: dict[str, list[str]] = {}
    for request in plan.requests:
        paths = found.setdefault(request.partition_path, [])
        for absolute in request.files_to_delete:
            path, is_of_slice = _relative(plan, request.partition_path, absolute)
            if not is_of_slice:
                paths.append(path)
    return {partition_path: tuple(paths) for partition_path, paths in found.items()}


def appended_logs_to_delete(plan: RollbackPlan) -> tuple[str, ...]:
    """Return the log files with the names of other slices that a stored plan deletes, relative to the base path.

    Only a plan for table version 6 may delete such files. Before you delete a file, check that it contains no block of
    another instant.

    Raises:
        CorruptTableError: see `files_to_delete`.
    """
    found = (
        _relative(plan, request.partition_path, absolute)
        for request in plan.requests
        for absolute in request.files_to_delete
    )
    return tuple(path for path, is_of_slice in found if is_of_slice)


def log_blocks_to_undo(plan: RollbackPlan) -> tuple[LogBlocks, ...]:
    """Return, for each slice, the blocks that a stored plan undoes by rollback blocks (only in table version 6).

    Raises:
        CorruptTableError: the plan names a file that is not a log file of its partition, or files of several slices.
    """
    slices: dict[tuple[str, str, str], list[str]] = {}
    for request in plan.requests:
        for path in request.log_blocks_to_delete:
            name = path.rpartition("/")[2]
            log = LogFile.parse_or_none(name)
            if log is None or not may_hold_data(request.partition_path):
                raise _foreign(plan, request.partition_path, path)
            names = slices.setdefault((request.partition_path, log.file_id, log.instant_time), [])
            names.append(name)
    return tuple(
        LogBlocks(
            partition_path=partition_path,
            file_id=file_id,
            base_instant_time=base_time,
            names=tuple(sorted(names)),
        )
        for (partition_path, file_id, base_time), names in sorted(slices.items())
    )


def _relative(plan: RollbackPlan, partition_path: str, absolute: str) -> tuple[str, bool]:
    """Return the path relative to the base path, and whether the file is a log file with the name of another slice."""
    name = absolute.rpartition("/")[2]
    path = f"{partition_path}/{name}" if partition_path else name
    is_in_partition = may_hold_data(partition_path) and absolute.endswith(f"/{path}")
    is_own = is_in_partition and _file_id_and_instant(name)[1] == plan.undone_time
    is_of_slice = is_in_partition and not is_own and LogFile.parse_or_none(name) is not None
    if not (is_own or is_of_slice):
        raise _foreign(plan, partition_path, absolute)
    return path, is_of_slice


def _foreign(plan: RollbackPlan, partition_path: str, path: str) -> CorruptTableError:
    return CorruptTableError(
        f"The rollback plan of {plan.undone_time} names {path!r}, which is not a file of that instant in "
        f"partition {partition_path!r}; nothing was deleted.",
        hint="Undo the instant with Hudi's command line.",
    )


@dataclass(frozen=True, slots=True)
class UndoneBlocks:
    """The log files that a rollback deleted or wrote in order to undo `LogBlocks`, by partition path.

    Attributes:
        deleted: absolute paths of log files that were deleted, because all their blocks were undone.
        written: absolute paths of the log files with rollback blocks, with their sizes in bytes.
    """

    deleted: Mapping[str, tuple[str, ...]]
    written: Mapping[str, Mapping[str, int]]


NO_BLOCKS = UndoneBlocks({}, {})


def rollback_metadata(
    plan: RollbackPlan, rollback_time: str, time_taken_ms: int, blocks: UndoneBlocks = NO_BLOCKS
) -> RollbackMetadata:
    """Return the content of the completed rollback. Files that were never created count as deleted, as in Hudi."""
    paths = dict.fromkeys(request.partition_path for request in plan.requests)
    partitions = {path: _partition(plan, path, blocks) for path in paths}
    undone = (plan.instant_to_rollback,) if plan.instant_to_rollback else ()
    return RollbackMetadata(
        start_rollback_time=rollback_time,
        time_taken_ms=time_taken_ms,
        total_files_deleted=sum(len(p.deleted_files) for p in partitions.values()),
        commits_rolled_back=tuple(instant.requested_time for instant in undone),
        partitions=partitions,
        instants_rolled_back=undone,
    )


def _partition(plan: RollbackPlan, partition_path: str, blocks: UndoneBlocks) -> RollbackPartition:
    requests = [request for request in plan.requests if request.partition_path == partition_path]
    planned = tuple(path for request in requests for path in request.files_to_delete)
    return RollbackPartition(
        partition_path=partition_path,
        deleted_files=planned + blocks.deleted.get(partition_path, ()),
        rollback_log_files=blocks.written.get(partition_path, {}),
        log_files_of_failed_commit={
            path: size for request in requests for path, size in request.log_blocks_to_delete.items()
        },
    )
