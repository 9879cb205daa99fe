"""Find the instant that an earlier attempt of the same request left on the timeline.

A retried, cleared or repeated task has the same request id, so the same request never writes twice.
This module searches only the active timeline; `tables.request_lookup` also searches the archive.
"""

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.model.instant import Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata, request_ids_in
from hudi_table_services.storage.locks.heartbeat import read_heartbeat_owner
from hudi_table_services.storage.parallel import READ_THREADS, map_in_parallel
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore


def find_completed(
    store: TimelineStore, timeline: Timeline, request_id: str
) -> tuple[Instant, CommitMetadata] | None:
    """Return the completed write of this request; None if the active timeline does not contain such a write."""
    newest_first = list(reversed(timeline.completed_writes))
    for start in range(0, len(newest_first), READ_THREADS):
        portion = newest_first[start : start + READ_THREADS]
        found = map_in_parallel(lambda i: _metadata(store, i), portion)
        for instant, metadata in zip(portion, found, strict=True):
            if metadata is not None and request_id in request_ids_in(metadata.extra_metadata):
                return instant, metadata
    return None


def belongs_to(store: TimelineStore, storage: Storage, instant: Instant, request_id: str) -> bool:
    """Whether this request began a pending write, according to the inflight file or the heartbeat of the write."""
    if instant.state is InstantState.INFLIGHT:
        metadata = _metadata(store, instant)
        if metadata is not None and request_id in request_ids_in(metadata.extra_metadata):
            return True
    return read_heartbeat_owner(storage, instant.requested_time) == request_id


def load_of(store: TimelineStore, instant: Instant, request_id: str) -> str:
    """Return the id that the caller of a pending load of changes chose; empty for writes of other requests.

    The result is also empty if the caller chose no id, or if the write has no inflight file yet.
    """
    metadata = _metadata(store, instant) if instant.state is InstantState.INFLIGHT else None
    ids = request_ids_in(metadata.extra_metadata) if metadata is not None else ()
    return ids[0] if len(ids) > 1 and request_id in ids else ""


def _metadata(store: TimelineStore, instant: Instant) -> CommitMetadata | None:
    """Metadata of an instant; None if its file is empty or was just archived."""
    try:
        return store.commit_metadata(instant)
    except ObjectNotFoundError:
        return None
    except MalformedMetadataError:
        if instant.is_completed:
            raise
        return None
