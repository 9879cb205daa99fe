"""The completed write of a request, wherever on the timeline it is by now."""

from hudi_table_services.jobs.archived_timeline import ArchivedTimeline
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.request_identity import find_completed
from hudi_table_services.storage.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore


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
