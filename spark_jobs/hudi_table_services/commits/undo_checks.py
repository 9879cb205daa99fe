"""Refuse to undo a write while its writer is alive, or after cleaning has deleted the files that the write replaced."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from hudi_table_services.commits.undo_plan import appends_to_slices, is_compaction, plan_of
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import (
    InstantHeldError,
    InvalidRequestError,
    MalformedFileNameError,
    ObjectNotFoundError,
)
from hudi_table_services.model.data_file import BaseFile, instant_in_file_name
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata, WriteOperation
from hudi_table_services.planning.recovery.rollback_plan import (
    appended_logs_to_delete,
    files_to_delete,
    log_blocks_to_undo,
)
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.locks.heartbeat import (
    HEARTBEAT_EXPIRES_AFTER_MS,
    heartbeat_age_ms,
    is_heartbeat_alive,
)
from hudi_table_services.storage.pending_plans import planned_file_names, planned_file_paths
from hudi_table_services.storage.stores.storage import StoredObject
from hudi_table_services.tables.table import TableAccess

_NAMED = 3
_CLOCKS_DIFFER_MS = 1000

_Group = tuple[str, str]
"""Partition path and id of a file group."""


def why_alive(table: TableAccess, instant: Instant) -> str:
    """Sentence that reports the age of the fresh heartbeat of a pending write; empty if no heartbeat is fresh."""
    time = instant.requested_time
    if instant.is_completed or not is_heartbeat_alive(table.storage, time, table.clock):
        return ""
    age_ms = heartbeat_age_ms(table.storage, time, table.clock)
    if age_ms is None:
        return ""  # The writer has just ended and removed its heartbeat.
    age_seconds = abs(age_ms) // 1000
    age = f"{age_seconds} s old" if age_ms >= -_CLOCKS_DIFFER_MS else f"{age_seconds} s ahead of the clock"
    left_s = HEARTBEAT_EXPIRES_AFTER_MS // 1000 - age_ms // 1000
    return (
        f"The writer of {instant.action.value} {time} may be alive: its heartbeat is {age}. If the writer has ended, "
        f"the heartbeat expires in {left_s} s."
    )


def require_dead(table: TableAccess, instants: Iterable[Instant]) -> None:
    """Raises InstantHeldError if one of the pending instants has a fresh heartbeat."""
    for instant in instants:
        if reason := why_alive(table, instant):
            raise InstantHeldError(
                reason,
                hint="End the writer's job first, then wait two minutes, until its heartbeat has expired. If no job is "
                "running and a clock was wrong, delete the heartbeat below .hoodie/.heartbeat.",
            )


def require_unplanned(table: TableAccess, timeline: Timeline, chosen: Collection[Instant]) -> None:
    """Raises InvalidRequestError if a pending plan needs files of a chosen write, unless the plan is chosen too."""
    identities = {i.identity for i in chosen}
    times = {i.requested_time for i in chosen if i.is_completed}
    for pending in timeline.pending:
        if pending.action is Action.CLEAN and times:
            raise InvalidRequestError(
                f"Clean {pending.requested_time} is pending: it may delete files that readers need after the rollback.",
                hint="Run clean.py first; it completes the pending clean.",
            )
        if pending.identity in identities:
            continue
        needed = planned_file_names(table.timeline_store, pending)
        held = sorted(name for name in needed if instant_in_file_name(name) in times)
        if needed and appends_to_slices(table):
            held += sorted(needed & _undone_names(table, chosen))
        if held:
            service = "compaction" if pending.action is Action.COMPACTION else "clustering"
            raise InvalidRequestError(
                f"Pending {pending.action.value} {pending.requested_time} is going to read {held[0]}, which the undo "
                "would delete or change.",
                hint="Execute or cancel the log compaction with Hudi first."
                if pending.action is Action.LOG_COMPACTION
                else f"Cancel the plan first: cancel_{service}.py --instant {pending.requested_time}.",
            )


def _undone_names(table: TableAccess, chosen: Collection[Instant]) -> frozenset[str]:
    """Names of the log files of table version 6 that undoing the chosen instants would delete or change."""
    plans = [plan_of(table, instant) for instant in chosen if instant.is_completed]
    paths = [path for plan in plans for path in appended_logs_to_delete(plan)]
    shared = [name for plan in plans for each in log_blocks_to_undo(plan) for name in each.names]
    return frozenset([*(path.rpartition("/")[2] for path in paths), *shared])


def require_predecessors(table: TableAccess, timeline: Timeline, instant: Instant) -> None:
    """Raises InvalidRequestError if cleaning has deleted files that readers would see after the write is undone."""
    metadata = table.timeline_store.commit_metadata(instant)
    if is_compaction(instant, metadata):
        require_inputs_of_compaction(table, instant)
        return
    needed = {
        (stat.partition_path, stat.file_id): stat.prev_commit
        for stat in metadata.write_stats
        if stat.prev_commit not in ("", NEW_FILE_GROUP) and not _is_log(stat.path)
    }
    replaced = {
        (path, file_id)
        for path, ids in (metadata.partition_to_replace_file_ids or {}).items()
        for file_id in ids
    }
    older = _commits_before(table, timeline, instant) if replaced else []
    latest = _latest_base_times(older)
    needed.update({group: latest.get(group, "") for group in replaced})
    listed = list_partitions(table.storage, {path for path, _ in needed})
    present = _present(listed, instant)
    lost_logs = {
        (path.rpartition("/")[0], _file_id_of_log(path))
        for path in _replaced_logs(table, instant, older, latest)
        if path not in {stored.path for files in listed.values() for stored in files}
    }
    missing = sorted(
        (path, file_id)
        for (path, file_id), time in needed.items()
        if (path, file_id) in lost_logs
        or (time not in present.get((path, file_id), set()) if time else not present.get((path, file_id)))
    )
    if missing:
        named = ", ".join(f"{path}/{file_id}" if path else file_id for path, file_id in missing[:_NAMED])
        raise InvalidRequestError(
            f"{instant.action.value} {instant.requested_time} cannot be undone: cleaning has deleted the previous "
            f"versions of {counted(len(missing), 'file group')}, such as {named}.",
            hint="Write the rows again instead, or restore the table to a savepoint with restore.py.",
        )


def require_inputs_of_compaction(table: TableAccess, compaction: Instant) -> None:
    """Raises InvalidRequestError if cleaning has deleted files that a completed compaction merged.

    Completed instants that are not compactions pass.
    """
    if not is_compaction(compaction, table.timeline_store.commit_metadata(compaction)):
        return
    requested = replace(
        compaction, action=Action.COMPACTION, state=InstantState.REQUESTED, completion_time=None
    )
    try:
        needed = planned_file_paths(table.timeline_store, requested)
    except ObjectNotFoundError:
        needed = frozenset()
    folders = {path.rpartition("/")[0] for path in needed}
    listed = list_partitions(table.storage, folders)
    present = {stored.path for files in listed.values() for stored in files}
    missing = sorted(needed - present)
    if missing or not needed:
        named = (
            f"{counted(len(missing), 'file')} that it merged, such as {missing[0]}" if missing else "its plan"
        )
        raise InvalidRequestError(
            f"Compaction {compaction.requested_time} cannot be undone: the table no longer has {named}.",
            hint="A compaction changes no rows. To undo older writes, write the rows again, or restore the table to a "
            "savepoint with restore.py.",
        )


def _is_log(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(".") and ".log." in name


def _file_id_of_log(path: str) -> str:
    return path.rpartition("/")[2][1:].partition("_")[0]


def _commits_before(
    table: TableAccess, timeline: Timeline, instant: Instant
) -> list[tuple[Instant, CommitMetadata]]:
    """The active completed writes that were requested before the instant, oldest first, with their metadata."""
    return [
        (older, table.timeline_store.commit_metadata(older))
        for older in timeline.completed_writes
        if older.requested_time < instant.requested_time
    ]


def _latest_base_times(commits: Iterable[tuple[Instant, CommitMetadata]]) -> dict[_Group, str]:
    """Map each file group to the time of the newest write of a base file."""
    return {
        (stat.partition_path, stat.file_id): commit.requested_time
        for commit, metadata in sorted(commits, key=lambda each: each[0].requested_time)
        for stat in metadata.write_stats
        if not _is_log(stat.path)
    }


def _replaced_logs(
    table: TableAccess,
    instant: Instant,
    commits: Iterable[tuple[Instant, CommitMetadata]],
    latest: Mapping[_Group, str],
) -> frozenset[str]:
    """Paths of the log files of the file slices that an instant replaced.

    For a clustering, its plan names these log files. For an overwrite, the commits that wrote the log files name them;
    log files of archived commits are left out. Callers need the log files because a clean that failed halfway may have
    deleted the log files of a slice, but not the base file of the slice.

    Args:
        latest: the time of the newest base file of each file group.
    """
    replaced = table.timeline_store.commit_metadata(instant).partition_to_replace_file_ids or {}
    committed = {
        stat.path
        for commit, metadata in commits
        for stat in metadata.write_stats
        if _is_log(stat.path) and stat.file_id in replaced.get(stat.partition_path, ())
        if _slice_time(table, commit, stat.path) >= latest.get((stat.partition_path, stat.file_id), "")
    }
    return frozenset(committed) | {path for path in _planned_by(table, instant) if _is_log(path)}


def _slice_time(table: TableAccess, commit: Instant, log_path: str) -> str:
    """Return a bound: the log file belongs to the newest base file whose time is at most this bound."""
    if table.config.table_version.has_own_log_instants:
        return commit.completion_time or commit.requested_time
    return instant_in_file_name(log_path.rpartition("/")[2]) or ""


def _planned_by(table: TableAccess, instant: Instant) -> frozenset[str]:
    """Paths of the files that a completed clustering has read; empty for other writes."""
    if table.timeline_store.commit_metadata(instant).operation_type is not WriteOperation.CLUSTER:
        return frozenset()
    for action in (Action.CLUSTERING, Action.REPLACE_COMMIT):  # Table version 6 has no action `clustering`.
        requested = replace(instant, action=action, state=InstantState.REQUESTED, completion_time=None)
        with suppress(ObjectNotFoundError):
            return planned_file_paths(table.timeline_store, requested)
    return frozenset()


def _present(listed: Mapping[str, Collection[StoredObject]], instant: Instant) -> dict[_Group, set[str]]:
    """Map each file group to the times of its base files. Leave out base files that the instant wrote.

    If a file group has a log file, the empty string is added to its times.

    Args:
        listed: the files of each partition.
    """
    found: dict[_Group, set[str]] = {}
    for path, files in listed.items():
        for stored in files:
            try:
                base = BaseFile.from_file_name(stored.name)
            except MalformedFileNameError:
                if _is_log(stored.name):
                    found.setdefault((path, _file_id_of_log(stored.name)), set()).add("")
                continue
            if base.instant_time != instant.requested_time:
                found.setdefault((path, base.file_id), set()).add(base.instant_time)
    return found


def undone_files(table: TableAccess, instant: Instant) -> dict[str, int]:
    """Paths of the existing files that undoing the instant would delete, with their sizes in bytes."""
    plan = plan_of(table, instant, whole_slice=True)
    planned = [path for paths in files_to_delete(plan).values() for path in paths]
    planned += appended_logs_to_delete(plan)
    sizes = {
        stored.path: stored.size_bytes
        for files in list_partitions(table.storage, {p.rpartition("/")[0] for p in planned}).values()
        for stored in files
    }
    return {path: sizes[path] for path in planned if path in sizes}
