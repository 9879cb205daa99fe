"""Find the completed write of a request, on the active timeline or in the archive, and running loads of changes."""

from hudi_table_services.errors import CommitConflictError
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.locks.heartbeat import is_heartbeat_alive
from hudi_table_services.storage.request_identity import find_completed, load_of
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.table import TableAccess


def find_completed_anywhere(
    storage: Storage, config: TableConfig, store: TimelineStore, timeline: Timeline, request_id: str
) -> tuple[Instant, CommitMetadata] | None:
    """The completed write of this request; None if it is neither on the active timeline nor in the archive.

    The archive is read after the active timeline, and only if the active timeline does not contain the write. Archival
    writes an instant into the archive before it removes the instant from the active timeline, so this order misses no
    write.

    Raises:
        CorruptTableError: the archive cannot be read.
        UnsupportedTableError: the archive is Parquet, and pyarrow is not installed.
    """
    found = find_completed(store, timeline, request_id)
    return found or ArchivedTimeline(storage, config).find_request(request_id)


def refuse_second_write(
    table: TableAccess, before: Timeline, now: Timeline, request_id: str, *, in_archive: bool = False
) -> None:
    """Raise an error if another attempt of this request completed after `before`.

    This can happen if the other attempt was treated as dead although it was alive.

    Args:
        in_archive: also search the archive if the write may have been archived in the meantime. Do not set this
            argument under the table lock, because an archive can be large.

    Raises:
        CommitConflictError: another attempt has completed.
        CorruptTableError, UnsupportedTableError: see `find_completed_anywhere`.
    """
    found = find_completed(table.timeline_store, now.since(before), request_id)
    archived = ArchivedTimeline(table.storage, table.config)
    if found is None and in_archive and archived.may_have_newer(before, now):
        found = archived.find_request(request_id)
    if found is not None:
        raise CommitConflictError(
            f"Another attempt of request {request_id} completed {found[0].requested_time} during this attempt.",
            hint="Nothing was committed a second time; running the request again returns that commit.",
        )


def refuse_running_load(table: TableAccess, timeline: Timeline, request_id: str, load_id: str) -> None:
    """Refuse a load of changes while another caller's load from the same position is running.

    Without `load_id`, nothing is refused, because the two callers cannot be distinguished.

    Args:
        request_id: the id of all loads from this position.
        load_id: the id that the caller of this load chose (see `LOAD_REQUEST_KEY`).

    Raises:
        CommitConflictError: the write of the other load is pending, and its writer is alive.
    """
    for instant in timeline.pending if load_id else ():
        other = load_of(table.timeline_store, instant, request_id)
        if other not in ("", load_id) and is_heartbeat_alive(
            table.storage, instant.requested_time, table.clock
        ):
            raise CommitConflictError(
                f"The write {instant.requested_time} of the request {other} loads the same changes at the moment.",
                hint="Nothing is lost. Run this load again when the other load has ended, or let the loads take turns. "
                "If the writer of the other load has died, wait two minutes.",
            )
