"""Read the newest instants of the active timeline, with the metadata of writes and of rollbacks."""

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.views.documents import InstantView, TimelineView
from hudi_table_services.tables.views.instant_details import describe_instant, describe_service


def read_timeline(storage: Storage, limit: int) -> TimelineView:
    """Read the newest instants of the active timeline, newest first.

    Args:
        limit: largest number of instants. Each completed write and each service among them requires up to three reads.

    Raises:
        TableNotFoundError: there is no table.
        CorruptTableError: the timeline, or the metadata of a commit, cannot be read.
    """
    config = read_table_config(storage)
    table = TableAccess(storage=storage, clock=SystemClock(), config=config)
    instants = table.load_timeline().instants
    newest = instants[::-1][:limit]
    return TimelineView(
        table_name=config.table_name,
        instants=tuple(map_in_parallel(lambda each: _described(table, each), newest)),
        instant_count=len(instants),
        has_archive=ArchivedTimeline(storage, config).has_begun,
    )


def _described(table: TableAccess, instant: Instant) -> InstantView:
    if not instant.action.writes_data:
        return describe_service(table, instant)
    return describe_instant(instant, _metadata(table.timeline_store, instant), table.config)


def _metadata(store: TimelineStore, instant: Instant) -> CommitMetadata | None:
    """Metadata of a completed write; None for a pending write and for a write that was just archived."""
    if not instant.is_completed:
        return None
    try:
        return store.commit_metadata(instant)
    except ObjectNotFoundError:
        return None
