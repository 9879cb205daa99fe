"""Load an earlier state of a table (time travel), or refuse a state that is incomplete or may still change."""

from collections.abc import Collection

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.keys.archival import MIN_COMMITS
from hudi_table_services.options.keys.cleaning import COMMITS_RETAINED
from hudi_table_services.planning.reading.time_travel import deleted_slices
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.pending_plans import is_pending_row_write
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.reading.lost_files import incomplete_slices
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot


def load_earlier_state(
    storage: Storage,
    config: TableConfig,
    as_of: str,
    *,
    partitions: Collection[str] | None = None,
    metadata_enable: bool | None = None,
) -> TableSnapshot:
    """Load the table as of an instant time: all completed writes that were requested at or before this time.

    As in Hudi's time travel, the requested time of a write decides in all table versions.

    Raises:
        InvalidRequestError: files of the state were deleted; the table or its active timeline begins after the instant;
            or a write that belongs to the state is still pending. If files or commits are missing, the message names
            the setting that keeps states longer.
        TableNotFoundError, CorruptTableError, MalformedMetadataError, UnsupportedTableError: see `load_snapshot`.
    """
    snapshot = load_snapshot(storage, partitions, config=config, metadata_enable=metadata_enable, as_of=as_of)
    store = TimelineStore(storage, config, SystemClock())
    timeline = snapshot.timeline
    refuse_before_active_timeline(timeline, as_of, ArchivedTimeline(storage, config))
    _refuse_pending(store, timeline, as_of)
    later = [i for i in timeline.completed_writes if i.requested_time > as_of]
    commits = map_in_parallel(store.commit_metadata, later)
    deleted = deleted_slices(lambda time: time <= as_of, commits, snapshot.all_slices)
    seen = [i for i in timeline.completed_writes if i.requested_time <= as_of]
    has_own = config.table_version.has_own_log_instants
    partly = incomplete_slices(store, seen, snapshot.all_slices, has_own_log_instants=has_own)
    wanted = [g for g in sorted({*deleted, *partly}) if partitions is None or g.partition_path in partitions]
    if wanted:
        raise InvalidRequestError(
            f"The state of the table as of {as_of} is incomplete: files of {counted(len(wanted), 'file group')} "
            f"were deleted, for example of {wanted[0]}. A clean deletes the files of states that are older than its "
            "retention.",
            hint=f"Read a later state. To keep states longer, raise {COMMITS_RETAINED}; to keep one state, create a "
            "savepoint.",
        )
    return snapshot


def refuse_before_active_timeline(timeline: Timeline, as_of: str, archive: ArchivedTimeline) -> None:
    """Refuse an instant before the first active write, unless the newest write up to the instant has a savepoint.

    Raises:
        InvalidRequestError: the message says whether the table did not exist yet, or its commits may be archived.
    """
    seen = [i.requested_time for i in timeline.completed_writes if i.requested_time <= as_of]
    savepoints = {i.requested_time for i in timeline.completed if i.action is Action.SAVEPOINT}
    first = first_write_time(timeline)
    if first is None or (seen and (as_of >= first or max(seen) in savepoints)):
        return
    written = [i.requested_time for i in timeline.completed_writes]
    if written and not seen and not archive.has_begun:
        raise InvalidRequestError(
            f"The table did not exist as of {as_of}: its first commit is {min(written)}.",
            hint=f"Read the state as of {min(written)}, or a later state.",
        )
    raise InvalidRequestError(
        f"The active timeline of the table begins with {first}, after {as_of}, so the state as of {as_of} is not "
        "known completely.",
        hint=f"Read a later state. To keep commits longer on the active timeline, raise {MIN_COMMITS}.",
    )


def _refuse_pending(store: TimelineStore, timeline: Timeline, as_of: str) -> None:
    """Refuse a state that changes when a pending write completes (TimelineUtils.validateTimestampAsOf, Hudi 1.2)."""
    for instant in timeline.pending:
        if instant.requested_time <= as_of and is_pending_row_write(store, instant):
            raise InvalidRequestError(
                f"The write {instant.requested_time} is pending. When it completes, it belongs to the state as of "
                f"{as_of}, so two reads of this state could return different rows.",
                hint=f"Read a state before {instant.requested_time}, or wait until the write has completed. If its "
                "writer died, roll the write back.",
            )
