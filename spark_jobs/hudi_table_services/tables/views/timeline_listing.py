"""Read the newest instants of the active timeline, and the commit metadata of the writes among them."""

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.views.documents import TimelineView
from hudi_table_services.tables.views.instant_details import describe_instant


def read_timeline(storage: Storage, limit: int) -> TimelineView:
    """Read the newest instants of the active timeline, newest first.

    Args:
        limit: largest number of instants. Each write among them requires one read.

    Raises:
        TableNotFoundError: there is no table.
        CorruptTableError: the timeline, or the metadata of a commit, cannot be read.
    """
    config = read_table_config(storage)
    store = TimelineStore(storage, config, SystemClock())
    instants = store.load().instants
    newest = instants[::-1][:limit]
    found = map_in_parallel(lambda each: _metadata(store, each), newest)
    return TimelineView(
        table_name=config.table_name,
        instants=tuple(describe_instant(i, m, config) for i, m in zip(newest, found, strict=True)),
        instant_count=len(instants),
        has_archive=ArchivedTimeline(storage, config).has_begun,
    )


def _metadata(store: TimelineStore, instant: Instant) -> CommitMetadata | None:
    """Metadata of a completed write; None for other instants and for a write that was just archived."""
    if not (instant.is_completed and instant.action.writes_data):
        return None
    try:
        return store.commit_metadata(instant)
    except ObjectNotFoundError:
        return None
