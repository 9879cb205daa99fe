"""Collect the facts that limit archival: results of other services, and files that archival would affect."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from hudi_table_services.model.archival import ArchivalBound
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.archival import ArchivalFacts
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.log_files.written_instants import FileInstant, written_instants
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.clean_history import last_clean
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.timeline_edge import never_completed

_METADATA_TIMELINES = (".hoodie/metadata/.hoodie", ".hoodie/metadata/.hoodie/timeline")


def archival_facts(
    table: TableAccess, timeline: Timeline, archived: frozenset[tuple[str, Action]], *, delta_commits: int
) -> ArchivalFacts:
    """Collect the facts that are known without listing partitions.

    Args:
        archived: instants that the archive already contains.
        delta_commits: see `ArchiveJobOptions`. The number has no effect on a copy-on-write table.
    """
    before = last_clean(table, timeline)
    config = table.config
    return ArchivalFacts(
        retained_by_clean=before.earliest_commit_to_retain if before is not None else "",
        has_metadata_table=bool(config.metadata_partitions or config.inflight_metadata_partitions),
        metadata_compacted_at=_metadata_compacted_at(table),
        archived=archived,
        delta_commits=delta_commits if config.table_type is TableType.MERGE_ON_READ else 0,
    )


def _metadata_compacted_at(table: TableAccess) -> str:
    """Return the requested time of the metadata table's last compaction.

    Only a compaction creates a ``commit`` in that table.
    """
    found = [
        stored.name.partition(".")[0].partition("_")[0]
        for folder in _METADATA_TIMELINES
        for stored in table.storage.list_folder(folder).files
        if stored.name.endswith(".commit")
    ]
    return max(found, default="")


def barriers(table: TableAccess, timeline: Timeline, leaving: Sequence[Instant]) -> tuple[ArchivalBound, ...]:
    """Return bounds for archival, so that readers see the same rows afterwards as before.

    Three kinds of files need a bound: files of replaced file groups that no clean has deleted, files of writes that
    never completed, and log files whose file slice depends on a completion time (see `_bounds_of_overtaken`). Every
    partition is listed once. In table version 6, the headers of all log files are read.
    """
    leaving_identities = {i.identity for i in leaving}
    staying = Timeline(tuple(i for i in timeline if i.identity not in leaving_identities))
    first, first_after = first_write_time(timeline) or "", first_write_time(staying) or ""
    completed = sorted(i.requested_time for i in timeline.completed_writes)
    replaced = _replaced(table.timeline_store, leaving)
    found, unknown = set[ArchivalBound](), dict[str, str]()
    files = tuple(written_instants(table.storage, table.config.table_version, list_partitions(table.storage)))
    found |= _bounds_of_overtaken(files, leaving)
    for file in files:
        if (replace := replaced.get(FileGroupId(file.partition_path, file.file_id))) is not None:
            found.add(_bound_of_uncleaned(replace))
        if first <= file.instant_time < first_after:
            unknown[file.instant_time] = file.path
    for time in never_completed(table, unknown.keys() - completed):
        # Readers see every file whose write is older than the first write on the timeline. Therefore, for each write
        # that never completed, an older completed write must stay on the timeline.
        before = completed[bisect_left(completed, time) - 1]
        reason = f"files of {time}, which never completed, would count as committed ({unknown[time]})"
        found.add(ArchivalBound(time=before, reason=reason))
    return tuple(sorted(found))


def _bounds_of_overtaken(files: Sequence[FileInstant], leaving: Sequence[Instant]) -> set[ArchivalBound]:
    """Return a bound for each delta commit that was running when a base file of its file group was requested.

    From table version 8 on, the completion time of a delta commit decides to which file slice its log file belongs.
    While the delta commit is on the active timeline, readers find this time without a search in the archive.
    """
    completed = {i.requested_time: i.visible_from for i in leaving if i.completion_time is not None}
    bases: dict[FileGroupId, list[str]] = defaultdict(list)
    for file in files:
        if not file.is_log:
            bases[FileGroupId(file.partition_path, file.file_id)].append(file.instant_time)
    return {
        ArchivalBound(
            time=file.instant_time,
            reason=f"the completion time of {file.instant_time} decides to which file slice {file.path} belongs",
        )
        for file in files
        if file.is_log
        and file.instant_time in completed
        and any(
            file.instant_time < base <= completed[file.instant_time]
            for base in bases[FileGroupId(file.partition_path, file.file_id)]
        )
    }


def _bound_of_uncleaned(replace: Instant) -> ArchivalBound:
    name = f"{replace.action.value} {replace.requested_time}"
    return ArchivalBound(
        time=replace.requested_time, reason=f"files that {name} replaced are not cleaned yet"
    )


def _replaced(store: TimelineStore, leaving: Sequence[Instant]) -> dict[FileGroupId, Instant]:
    return {
        FileGroupId(path, file_id): instant
        for instant in leaving
        if instant.action is Action.REPLACE_COMMIT
        for path, ids in (store.commit_metadata(instant).partition_to_replace_file_ids or {}).items()
        for file_id in ids
    }
