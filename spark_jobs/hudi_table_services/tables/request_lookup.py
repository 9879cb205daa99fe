"""The completed write of a request, wherever on the timeline it is by now."""

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
    """The completed write of this request; None: neither the active timeline nor the archive has one.

    The archive is read only where the active timeline has none. An instant is in the archive before it leaves the
    active timeline, so that none is missed on its way.

    Raises:
        CorruptTableError: the archive cannot be read.
        UnsupportedTableError: the archive is Parquet, and pyarrow is not installed.
    """
    found = find_completed(store, timeline, request_id)
    return found or ArchivedTimeline(storage, config).find_request(request_id)


def refuse_second_write(
    table: TableAccess, before: Timeline, now: Timeline, request_id: str, *, in_archive: bool = False
) -> None:
    """Another attempt of this request, taken for dead, may have completed since we looked.

    Args:
        in_archive: look there too, where archival may have taken it since. Not under the lock: an archive is large.

    Raises:
        CommitConflictError: it has.
        CorruptTableError, UnsupportedTableError: see `find_completed_anywhere`.
    """
    found = find_completed(table.timeline_store, now.since(before), request_id)
    archived = ArchivedTimeline(table.storage, table.config)
    if found is None and in_archive and archived.may_have_newer(before, now):
        found = archived.find_request(request_id)
    if found is not None:
        raise CommitConflictError(
            f"Another attempt of request {request_id} completed {found[0].requested_time} during this one.",
            hint="Nothing was committed a second time; running the request again returns that commit.",
        )
