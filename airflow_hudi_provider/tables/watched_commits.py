"""Find the new commits of a watched table, and build the payload of their asset event."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.instant_query import touched_partitions
from airflow_hudi_provider.tables.commit_cursor import CommitCursor
from hudi_table_services.errors import ObjectNotFoundError, TableNotFoundError
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.storage.file_slices import first_write_time

if TYPE_CHECKING:
    from hudi_table_services.storage.timeline_store import TimelineStore

SHOWN_INSTANTS = 50
SHOWN_PARTITIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommits:
    """The result of one poll.

    Attributes:
        base_path: base path of the table. Empty if the table was not read, or if the poll had no cursor.
        writes: completed writes that are new, in the order in which they became visible.
        wanted: the new writes whose operations `CommitWatch` watches, each with its metadata.
        unread: the new writes that were archived before they were read. The next poll reads them from the archive.
        timeline: the timeline at this poll. None if the table does not exist or could not be read.
        is_missing: whether the table does not exist.
    """

    base_path: str = ""
    writes: tuple[Instant, ...] = ()
    wanted: tuple[tuple[Instant, CommitMetadata], ...] = ()
    unread: tuple[Instant, ...] = ()
    timeline: Timeline | None = None
    is_missing: bool = False

    def moved(self, cursor: CommitCursor, *, reported: Collection[Instant]) -> CommitCursor:
        """Return the cursor after this poll. Writes that were not read or not yet reported remain new."""
        if self.timeline is None:
            return cursor
        unreported = (instant for instant, _ in self.wanted if instant not in reported)
        waiting = frozenset((*self.unread, *unreported))
        return cursor.past(self.timeline, [i for i in self.writes if i not in waiting], waiting)


@dataclass(slots=True)
class CommitWatch:
    """Polls one table, and caches the metadata of commits.

    Attributes:
        operations: write operations that count. If empty, all operations count except clusterings and compactions,
            which change no rows.
    """

    operations: tuple[WriteOperation, ...] = ()
    _read: dict[str, CommitMetadata] = field(default_factory=dict)
    _archived: tuple[str, tuple[Instant, ...]] = ("", ())

    def poll(self, hook: HudiHook, cursor: CommitCursor | None) -> NewCommits:
        """Return the writes that are new to the cursor. Without a cursor, no write is new."""
        try:
            store = hook.timeline_store()
        except TableNotFoundError:
            hook.find_table_config()  # raises the error about other files
            return NewCommits(is_missing=True)
        timeline = store.load()
        if cursor is None:
            return NewCommits(timeline=timeline)
        writes = cursor.new_writes(timeline, self._archived_writes(hook, cursor, timeline))
        read = [(i, found) for i in writes if (found := self._metadata(store, i)) is not None]
        self._read = {i.requested_time: found for i, found in read}
        return NewCommits(
            base_path=hook.location.base_path,
            writes=writes,
            wanted=tuple((i, found) for i, found in read if self._counts(found)),
            unread=tuple(i for i in writes if i.requested_time not in self._read),
            timeline=timeline,
        )

    def _counts(self, metadata: CommitMetadata) -> bool:
        operation = metadata.operation_type
        if self.operations:
            return operation in self.operations
        return operation not in (WriteOperation.CLUSTER, WriteOperation.COMPACT, WriteOperation.LOG_COMPACT)

    def _metadata(self, store: "TimelineStore", instant: Instant) -> CommitMetadata | None:
        if instant.requested_time in self._read:
            return self._read[instant.requested_time]
        try:
            return store.commit_metadata(instant)
        except ObjectNotFoundError:
            return None  # archived between the listing and this read

    def _archived_writes(
        self, hook: HudiHook, cursor: CommitCursor, timeline: Timeline
    ) -> tuple[Instant, ...]:
        """Return the writes that were archived before they were reported.

        Read the archive again only if it has grown.
        """
        from hudi_table_services.tables.archived_timeline import ArchivedTimeline

        if not cursor.needs_archive(timeline):
            return ()
        first = first_write_time(timeline) or ""
        if self._archived[0] != first:
            # Keep only writes that may be new. Writes before the floor of the cursor are not new, and will never be
            # new, because the floor never decreases.
            archived = ArchivedTimeline(hook.storage, hook.table_config()).newest_readable_writes()
            found = [*takewhile(lambda write: write.instant.requested_time >= cursor.floor, archived)]
            found.reverse()  # oldest first
            for write in found:
                self._read.setdefault(write.instant.requested_time, write.metadata)
            self._archived = (first, tuple(write.instant for write in found))
        return self._archived[1]


def watched_payload(
    base_path: str, commits: Sequence[tuple[Instant, CommitMetadata]], every: int
) -> Mapping[str, Any]:
    """Return the payload of the asset event for these commits.

    The keys are ``base_path``, ``count``, ``every``, ``from``, ``to``, ``instants``, ``operations``, ``partitions``,
    ``partition_count``, ``rows`` and ``dedupe_key``. ``count`` is the number of these commits, and ``every`` is the
    number of commits that cause an event (``every_n_commits`` of the watcher). ``from`` and ``to`` are the times at
    which the first and the last commit became visible. ``dedupe_key`` is a hash of the commits, so an event that
    is fired again after a restart of the triggerer has the same key.
    """
    times = [instant.requested_time for instant, _ in commits]
    stats = [stat for _, metadata in commits for stat in metadata.write_stats]
    partitions = sorted({path for _, metadata in commits for path in touched_partitions(metadata)})
    operations = sorted({metadata.operation_type.value.lower() for _, metadata in commits})
    return {
        "base_path": base_path,
        "count": len(commits),
        "every": every,
        "from": commits[0][0].visible_from,
        "to": commits[-1][0].visible_from,
        "instants": times[-SHOWN_INSTANTS:],
        "operations": operations,
        "partitions": partitions[:SHOWN_PARTITIONS],
        "partition_count": len(partitions),
        "rows": {
            "inserted": sum(stat.num_inserts for stat in stats),
            "updated": sum(stat.num_update_writes for stat in stats),
            "deleted": sum(stat.num_deletes for stat in stats),
        },
        "dedupe_key": hashlib.sha256("\n".join([base_path, *times]).encode()).hexdigest()[:32],
    }
