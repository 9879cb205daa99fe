"""Find the completed write of a request, on the active timeline or in the archive."""

from hudi_table_services.errors import CommitConflictError
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.request_identity import find_completed
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
