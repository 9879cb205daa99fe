"""Find the files that completed writes of the active timeline list. The metadata of each write is read once."""

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.planning.recovery.orphans import named_paths
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.timeline_store import TimelineStore


class WrittenFiles:
    """Cached metadata of the completed writes. Only the active timeline is read; archival keeps it short."""

    def __init__(self, store: TimelineStore) -> None:
        self._store = store
        self._read: dict[Instant, CommitMetadata | None] = {}

    def writes(self, timeline: Timeline) -> list[tuple[Instant, CommitMetadata]]:
        """Completed writes, oldest first, without writes that were just archived or undone.

        Raises:
            MalformedMetadataError: a write cannot be read.
        """
        unread = [i for i in timeline.completed_writes if i not in self._read]
        self._read.update(zip(unread, map_in_parallel(self._metadata, unread), strict=True))
        found = ((i, self._read[i]) for i in timeline.completed_writes)
        return [(instant, metadata) for instant, metadata in found if metadata is not None]

    def named(self, timeline: Timeline) -> dict[str, frozenset[str]]:
        """Map the requested time of each write to the paths that the write lists. Raises the errors of `writes`."""
        return {i.requested_time: named_paths(m.write_stats) for i, m in self.writes(timeline)}

    def operations(self, timeline: Timeline) -> dict[str, WriteOperation]:
        """Map the requested time of each write to its operation. Raises the errors of `writes`."""
        return {i.requested_time: m.operation_type for i, m in self.writes(timeline)}

    def _metadata(self, instant: Instant) -> CommitMetadata | None:
        try:
            return self._store.commit_metadata(instant)
        except ObjectNotFoundError:
            return None
