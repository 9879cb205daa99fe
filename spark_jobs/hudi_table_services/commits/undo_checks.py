"""Refuse to undo a write while its writer is alive, or after cleaning has deleted the files that the write replaced."""

from collections.abc import Collection, Iterable, Mapping

from hudi_table_services.commits.undo import plan_of
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import (
    InstantHeldError,
    InvalidRequestError,
    MalformedFileNameError,
)
from hudi_table_services.model.data_file import BaseFile, instant_in_file_name
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata
from hudi_table_services.planning.recovery.rollback_plan import files_to_delete
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.locks.heartbeat import (
    HEARTBEAT_EXPIRES_AFTER_MS,
    heartbeat_age_ms,
    is_heartbeat_alive,
)
from hudi_table_services.storage.pending_plans import planned_file_names
from hudi_table_services.tables.table import TableAccess

_NAMED = 3
_CLOCKS_DIFFER_MS = 1000


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
        if held:
            raise InvalidRequestError(
                f"Pending {pending.action.value} {pending.requested_time} is going to read {held[0]}.",
                hint=f"Cancel the plan first: cancel_clustering.py --instant {pending.requested_time}.",
            )


def require_predecessors(table: TableAccess, timeline: Timeline, instant: Instant) -> None:
    """Raises InvalidRequestError if cleaning has deleted files that readers would see after the write is undone."""
    metadata = table.timeline_store.commit_metadata(instant)
    needed = {
        (stat.partition_path, stat.file_id): stat.prev_commit
        for stat in metadata.write_stats
        if stat.prev_commit not in ("", NEW_FILE_GROUP)
    }
    replaced: Mapping[str, tuple[str, ...]] = metadata.partition_to_replace_file_ids or {}
    latest = _latest_before(table, timeline, instant) if replaced else {}
    for path, ids in replaced.items():
        needed.update({(path, file_id): latest.get((path, file_id), "") for file_id in ids})
    present = _present(table, {path for path, _ in needed}, instant)
    missing = sorted(
        (path, file_id)
        for (path, file_id), time in needed.items()
        if (time not in present.get((path, file_id), set()) if time else not present.get((path, file_id)))
    )
    if missing:
        named = ", ".join(f"{path}/{file_id}" if path else file_id for path, file_id in missing[:_NAMED])
        raise InvalidRequestError(
            f"{instant.action.value} {instant.requested_time} cannot be undone: cleaning has deleted the previous "
            f"versions of {counted(len(missing), 'file group')}, such as {named}.",
            hint="Write the rows again instead, or restore the table to a savepoint with restore.py.",
        )


def _latest_before(table: TableAccess, timeline: Timeline, instant: Instant) -> dict[tuple[str, str], str]:
    """Map each file group to the time of the newest active write that changed the group before the instant."""
    found: dict[tuple[str, str], str] = {}
    for older in timeline.completed_writes:
        if older.requested_time < instant.requested_time:
            metadata: CommitMetadata = table.timeline_store.commit_metadata(older)
            found.update({(s.partition_path, s.file_id): older.requested_time for s in metadata.write_stats})
    return found


def _present(
    table: TableAccess, partitions: Collection[str], instant: Instant
) -> dict[tuple[str, str], set[str]]:
    """Map each file group to the instant times of its base files, without the base files that the instant wrote."""
    found: dict[tuple[str, str], set[str]] = {}
    for path, files in list_partitions(table.storage, partitions).items():
        for stored in files:
            try:
                base = BaseFile.from_file_name(stored.name)
            except MalformedFileNameError:
                continue
            if base.instant_time != instant.requested_time:
                found.setdefault((path, base.file_id), set()).add(base.instant_time)
    return found


def undone_files(table: TableAccess, instant: Instant) -> dict[str, int]:
    """Paths of the existing files that undoing the instant would delete, with their sizes in bytes."""
    planned = files_to_delete(plan_of(table, instant))
    sizes = {
        stored.path: stored.size_bytes
        for files in list_partitions(table.storage, planned).values()
        for stored in files
    }
    return {path: sizes[path] for paths in planned.values() for path in paths if path in sizes}
