"""Compare a metadata table with the files of its table. A damaged metadata table is a finding, not an error."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from hudi_table_services.contract.metadata_table import MetadataTableHealth
from hudi_table_services.errors import (
    CorruptTableError,
    HudiTableServiceError,
    ObjectNotFoundError,
    TableNotFoundError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES
from hudi_table_services.jobs.health.listing_differences import Differences, compare_listings
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.metadata_table.compaction import (
    delta_commits_since_compaction,
    last_compaction,
)
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.metadata_table import completeness
from hudi_table_services.storage.metadata_table.checked_partition import check_files
from hudi_table_services.storage.metadata_table.log_changes import NoKeys
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.metadata_table.table_listing import ListingOutcome, list_from_metadata_table
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.storage.stores.storage import StoredObject
from hudi_table_services.storage.table_store import METADATA_TABLE
from hudi_table_services.tables.metadata_table import (
    refusing_unusable,
    require_definitions,
    require_maintainable,
    used_definitions,
)
from hudi_table_services.tables.secondary_indexes import require_updatable_secondary_indexes
from hudi_table_services.tables.table import TableAccess

_EXAMPLES = 20
_CHANGED = "a writer changed the table during the comparison"
_NO_FAULT = frozenset({Reason.NOT_LISTED, Reason.BEING_BUILT})
_DELETING = (Action.CLEAN, Action.ROLLBACK, Action.RESTORE)
_DAMAGE = (CorruptTableError, UnsupportedTableError, TableNotFoundError, ObjectNotFoundError)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTableFindings:
    """Measures and state of the metadata table; empty if the table has no metadata table."""

    measures: Mapping[str, float] = field(default_factory=dict)
    state: MetadataTableHealth = field(default_factory=MetadataTableHealth)


def check_metadata_table(
    table: TableAccess,
    snapshot: TableSnapshot,
    listed: Mapping[str, tuple[StoredObject, ...]],
    *,
    is_deep: bool = False,
) -> MetadataTableFindings:
    """Read the metadata table, and compare its list of files with the folders.

    Args:
        snapshot: state of the table.
        listed: every folder of the table with its files, listed after the timeline was loaded.
        is_deep: also read all records of all indexes, and compare statistics with the footers of the data files.

    Raises:
        StorageError: a request failed for another reason than a missing file.
    """
    config, timeline = table.config, snapshot.timeline
    if not config.metadata_partitions and not config.inflight_metadata_partitions:
        return MetadataTableFindings()
    files = list(table.storage.list_files(METADATA_TABLE))
    outcome = _listing(table, timeline)
    is_unusable = isinstance(outcome, UnusableMetadataTable) and outcome.reason not in _NO_FAULT
    found = MetadataTableFindings(
        measures={
            "metadata_bytes": float(sum(stored.size_bytes for stored in files)),
            "metadata_unusable": float(is_unusable),
        },
        state=_state(table, outcome),
    )
    found = _with_timeline(found, table, timeline)
    if is_deep:
        found = _with_records(found, table, snapshot, listed)
    if isinstance(outcome, UnusableMetadataTable):
        return found
    return _with_differences(
        found, table, timeline, compare_listings(outcome.files, listed, _seen(table, timeline))
    )


def _listing(table: TableAccess, timeline: Timeline) -> ListingOutcome:
    """List files from the metadata table. List again after a failure, because a writer may have caused the failure."""
    outcome = list_from_metadata_table(table.storage, table.config, timeline, table.clock)
    if isinstance(outcome, UnusableMetadataTable) and outcome.reason not in _NO_FAULT:
        outcome = list_from_metadata_table(table.storage, table.config, timeline, table.clock)
    return outcome


def _state(table: TableAccess, outcome: ListingOutcome) -> MetadataTableHealth:
    state = MetadataTableHealth(
        being_built=table.config.inflight_metadata_partitions,
        refusal=_refusal(table),
    )
    if isinstance(outcome, UnusableMetadataTable):
        return replace(state, unusable=outcome.reason.value, problem=outcome.message, path=outcome.path)
    return state


def _refusal(table: TableAccess) -> str:
    try:
        require_maintainable(table.config)
        require_definitions(table.storage, table.config.metadata_partitions, table.config.table_version)
        require_updatable_secondary_indexes(table.storage, table.config)
    except (UnsupportedTableError, CorruptTableError) as error:
        return f"{error.message} {error.hint}".strip()
    return ""


def _with_timeline(
    found: MetadataTableFindings, table: TableAccess, timeline: Timeline
) -> MetadataTableFindings:
    """Add the measures of the metadata table's timeline and file slices, as far as these can be read."""
    try:
        metadata = open_metadata_table(table.storage, table.config, table.clock, data_timeline=timeline)
        used_definitions(table.storage, metadata.partitions, table.config.table_version)
    except _DAMAGE as error:
        return _with_problem(found, error)
    own = metadata.timeline
    compaction = last_compaction(own)
    missing = completeness.missing_instants(metadata)
    found = MetadataTableFindings(
        measures={
            **found.measures,
            "metadata_commits_behind": float(len(missing)),
            "metadata_commits_since_compaction": float(len(delta_commits_since_compaction(own))),
            "metadata_pending_instants": float(len(own.pending)),
        },
        state=replace(
            found.state,
            last_compaction=compaction.requested_time if compaction else "",
            pending=tuple(f"{i.action.value} {i.requested_time}" for i in own.pending[:_EXAMPLES]),
            missing_instants=tuple(missing[:_EXAMPLES]),
        ),
    )
    try:
        found = _with_slices(found, table, metadata)
        _check_index_files(table, metadata)
    except _DAMAGE as error:
        return _with_problem(found, error)
    return found


def _check_index_files(table: TableAccess, metadata: MetadataTable) -> None:
    """Raise CorruptTableError if a file of an index is lost or truncated.

    A writer may have caused a failure of the first check, so after a failure, the files are checked once more.
    """
    try:
        _check_files(metadata)
    except _DAMAGE:
        _check_files(open_metadata_table(table.storage, table.config, table.clock))


def _check_files(metadata: MetadataTable) -> None:
    read = cache(metadata.commit_metadata)
    with refusing_unusable():
        for name in metadata.partitions:
            if name != FILES:
                found = check_files(metadata, name, metadata.storage.list_folder(name).files, read)
                # In table version 6, a new log file can have the name of a lost log file. Then only the blocks show the
                # loss, because no block belongs to the instant that wrote the lost file.
                for file_slice in () if metadata.has_own_log_instants else found.slices:
                    found.changes_of(file_slice, NoKeys())


def _with_records(
    found: MetadataTableFindings,
    table: TableAccess,
    snapshot: TableSnapshot,
    listed: Mapping[str, tuple[StoredObject, ...]],
) -> MetadataTableFindings:
    """Read the records of all indexes and add their measures.

    Raises:
        CorruptTableError: a data file is damaged.
        StorageError: as in `check_metadata_table`.
    """
    from hudi_table_services.jobs.health.index_records_check import VisibleFiles, check_index_records

    files = VisibleFiles.of(snapshot, listed, _seen(table, snapshot.timeline))

    def check() -> tuple[str, ...]:
        metadata = open_metadata_table(
            table.storage, table.config, table.clock, data_timeline=snapshot.timeline
        )
        return check_index_records(table, metadata, files)

    def reason_of_difference() -> str:
        return _pending_deletion(snapshot.timeline) or _changed_since(table, snapshot.timeline)

    try:
        try:
            wrong = check()
        except _DAMAGE:
            if reason := reason_of_difference():
                return _not_compared(found, f"statistics: {reason}")
            # Services of the metadata table may delete files of the metadata table after the table's instant is
            # complete, without a change of the table's timeline. Therefore check once more.
            wrong = check()
    except _DAMAGE as error:
        if reason := reason_of_difference():
            return _not_compared(found, f"statistics: {reason}")
        if not error.path or error.path.startswith(METADATA_TABLE):
            return _with_problem(found, error)
        if isinstance(error, ObjectNotFoundError):  # the check of the folders reports missing data files
            return _not_compared(found, f"statistics: {error.message}")
        raise
    if wrong and (reason := reason_of_difference()):
        return _not_compared(found, f"statistics: {reason}")
    return MetadataTableFindings(
        measures={**found.measures, "metadata_wrong_statistics": float(len(wrong))},
        state=replace(found.state, wrong_statistics_examples=wrong[:_EXAMPLES]),
    )


def _not_compared(found: MetadataTableFindings, reason: str) -> MetadataTableFindings:
    reasons = [each for each in (found.state.not_compared, reason) if each]
    return replace(found, state=replace(found.state, not_compared="; ".join(reasons)))


def _pending_deletion(timeline: Timeline) -> str:
    """Name a pending action that deletes files; empty if there is none."""
    deleting = [i for i in timeline.pending if i.action in _DELETING]
    return f"{deleting[0].action.value} {deleting[0].requested_time} is pending" if deleting else ""


def _changed_since(table: TableAccess, timeline: Timeline) -> str:
    return _CHANGED if table.load_timeline().instants != timeline.instants else ""


def _with_slices(
    found: MetadataTableFindings, table: TableAccess, metadata: MetadataTable
) -> MetadataTableFindings:
    slices = {name: partition_slices(metadata, name) for name in metadata.partitions}
    every: list[FileSlice] = [each for group in slices.values() for each in group]
    logs = [log for each in every for log in each.log_files]
    unexplained = {
        time for each in slices.get(FILES, ()) for time in completeness.unexplained_instants(metadata, each)
    }
    if completeness.later_instants(metadata):
        data = table.load_timeline()
        unexplained |= set(completeness.abandoned_instants(metadata, data, metadata.timeline_store.load()))
    return MetadataTableFindings(
        measures={
            **found.measures,
            "metadata_commits_ahead": float(len(unexplained)),
            "metadata_log_bytes": float(sum(log.size_bytes for log in logs)),
            "metadata_log_files": float(len(logs)),
        },
        state=replace(found.state, unexplained_instants=tuple(sorted(unexplained)[:_EXAMPLES])),
    )


def _with_problem(found: MetadataTableFindings, error: HudiTableServiceError) -> MetadataTableFindings:
    """Add the damage that an error describes.

    If the findings already contain a problem, keep that problem, because it may be the reason why jobs cannot list
    files from the metadata table.
    """
    measures = {**found.measures, "metadata_unusable": 1.0}
    if found.state.problem:
        return replace(found, measures=measures)
    return replace(
        found, measures=measures, state=replace(found.state, problem=error.message, path=error.path)
    )


def _seen(table: TableAccess, timeline: Timeline) -> Visibility:
    return Visibility.of(timeline, has_own_log_instants=table.config.table_version.has_own_log_instants)


def _with_differences(
    found: MetadataTableFindings, table: TableAccess, timeline: Timeline, differences: Differences
) -> MetadataTableFindings:
    """Add the differences, unless they can be explained by jobs that delete files or have just changed the table."""
    if differences.examples and (reason := _pending_deletion(timeline) or _changed_since(table, timeline)):
        return _not_compared(found, f"list of files: {reason}")
    return MetadataTableFindings(
        measures={
            **found.measures,
            "metadata_missing_files": float(differences.missing),
            "metadata_unlisted_files": float(differences.unlisted),
        },
        state=replace(found.state, difference_examples=differences.examples[:_EXAMPLES]),
    )
