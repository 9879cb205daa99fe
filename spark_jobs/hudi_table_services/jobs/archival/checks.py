"""Collect the facts that limit archival: results of other services, and files that archival would make visible."""

from bisect import bisect_left
from collections.abc import Sequence

from hudi_table_services.model.archival import ArchivalBound
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.archival import ArchivalFacts
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.log_files.written_instants import written_instants
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.clean_history import last_clean
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.timeline_edge import never_completed

_METADATA_TIMELINES = (".hoodie/metadata/.hoodie", ".hoodie/metadata/.hoodie/timeline")


def archival_facts(
    table: TableAccess, timeline: Timeline, archived: frozenset[tuple[str, Action]]
) -> ArchivalFacts:
    """Collect the facts that are known without listing partitions.

    Args:
        archived: instants that the archive already contains.
    """
    before = last_clean(table, timeline)
    config = table.config
    return ArchivalFacts(
        retained_by_clean=before.earliest_commit_to_retain if before is not None else "",
        has_metadata_table=bool(config.metadata_partitions or config.inflight_metadata_partitions),
        metadata_compacted_at=_metadata_compacted_at(table),
        archived=archived,
    )


def _metadata_compacted_at(table: TableAccess) -> str:
    """Requested time of the metadata table's last compaction; only a compaction creates a ``commit`` in that table."""
    found = [
        stored.name.partition(".")[0].partition("_")[0]
        for folder in _METADATA_TIMELINES
        for stored in table.storage.list_folder(folder).files
        if stored.name.endswith(".commit")
    ]
    return max(found, default="")


def barriers(table: TableAccess, timeline: Timeline, leaving: Sequence[Instant]) -> tuple[ArchivalBound, ...]:
    """Bounds that stop archival before readers would see files that they do not see now.

    Two kinds of files need a bound: files of replaced file groups that no clean has deleted, and files of writes that
    never completed. Every partition is listed once. In table version 6, the headers of all log files are read.
    """
    leaving_identities = {i.identity for i in leaving}
    staying = Timeline(tuple(i for i in timeline if i.identity not in leaving_identities))
    first, first_after = first_write_time(timeline) or "", first_write_time(staying) or ""
    completed = sorted(i.requested_time for i in timeline.completed_writes)
    replaced = _replaced(table.timeline_store, leaving)
    found, unknown = set[ArchivalBound](), dict[str, str]()
    listed = list_partitions(table.storage)
    for file in written_instants(table.storage, table.config.table_version, listed):
        if (replace := replaced.get(FileGroupId(file.partition_path, file.file_id))) is not None:
            found.add(_bound_of_uncleaned(replace))
        if first <= file.instant_time < first_after:
            unknown[file.instant_time] = file.path
    for time in never_completed(table, unknown.keys() - completed):
        # Readers see every file whose write is older than the first write on the timeline. Therefore a completed write
        # that is older than the incomplete write must stay on the timeline.
        before = completed[bisect_left(completed, time) - 1]
        reason = f"files of {time}, which never completed, would count as committed ({unknown[time]})"
        found.add(ArchivalBound(time=before, reason=reason))
    return tuple(sorted(found))


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
