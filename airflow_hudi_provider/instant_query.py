"""A query for completed instants, and its answer. This module does not use Airflow."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.request import refuse_text_for_lists
from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import InvalidRequestError, ObjectNotFoundError
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.storage.file_slices import first_write_time

if TYPE_CHECKING:
    from hudi_table_services.model.archival import ArchivedWrite
    from hudi_table_services.model.timeline import Timeline
    from hudi_table_services.storage.timeline_store import TimelineStore

DESCRIBED_INSTANTS = 50
"""Maximum number of instants that an answer describes. The limit keeps XComs small, even after a long pause."""

DESCRIBED_PARTITIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantQuery:
    """Conditions on completed instants. An instant counts if it meets all conditions.

    Attributes:
        after: an instant time. Only instants that became visible after this time count. If empty, all instants of the
            active timeline count.
        actions: names of Hudi's actions (``commit``, ``replacecommit``, ``clean``, …). If empty, actions that write
            rows count.
        operations: names of write operations (``upsert``, ``cluster``, …). If empty, all operations count.
        partitions: partition paths. A write must have changed at least one of them. If empty, all partitions count.
        min_count: number of instants that must have completed.

    Raises:
        InvalidRequestError: Hudi has no action or write operation of a given name, a string is given instead of a
            tuple, or `min_count` is below 1.
    """

    after: str = ""
    actions: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    min_count: int = 1

    def __post_init__(self) -> None:
        refuse_text_for_lists(actions=self.actions, operations=self.operations, partitions=self.partitions)
        _require_known("action", self.actions, [action.value for action in Action])
        _require_known(
            "operation", self.operations, [operation.value.lower() for operation in WriteOperation]
        )
        if self.min_count < 1:
            raise InvalidRequestError(f"min_count is {self.min_count}, but must be at least 1.")

    @property
    def needs_metadata(self) -> bool:
        return bool(self.operations or self.partitions)

    def takes_action(self, instant: Instant) -> bool:
        """Return whether the action and the time of a completed instant match."""
        wanted = instant.action.value in self.actions if self.actions else instant.action.writes_data
        return wanted and instant.visible_from > self.after

    def takes_metadata(self, metadata: CommitMetadata | None) -> bool:
        """Return whether the write operation and the partitions of a write match."""
        if metadata is None:
            return not self.needs_metadata
        if self.operations and metadata.operation_type.value.lower() not in self.operations:
            return False
        return not self.partitions or bool(touched_partitions(metadata) & set(self.partitions))


def _require_known(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise InvalidRequestError(
                f"There is no {what} {name!r}.",
                hint=f"{did_you_mean(name, known)} Valid names: {', '.join(known)}.".strip(),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenInstant:
    """A completed instant, as it appears in an XCom.

    Attributes:
        partitions: partition paths that the write changed, but not more than `DESCRIBED_PARTITIONS` of them.
    """

    requested_time: str
    completion_time: str | None
    action: str
    operation: str | None = None
    partitions: tuple[str, ...] = ()
    rows_written: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """The answer to an `InstantQuery`.

    Attributes:
        count: number of matching instants.
        until: the time at which the latest matching instant became visible. Use this time as ``after`` of the
            next query. ``until`` is empty if no instant matches.
        instants: the latest matching instants, oldest first.
    """

    count: int
    after: str
    until: str
    instants: tuple[SeenInstant, ...] = ()

    def to_json(self) -> dict[str, Any]:
        document = asdict(self)
        return {
            **document,
            "instants": [{**i, "partitions": list(i["partitions"])} for i in document["instants"]],
        }


def touched_partitions(metadata: CommitMetadata) -> set[str]:
    """Return the partitions in which a write added, rewrote or replaced files."""
    return {*metadata.partition_to_write_stats, *(metadata.partition_to_replace_file_ids or {})}


def find_instants(
    store: "TimelineStore",
    query: InstantQuery,
    archived: "Callable[[str], Sequence[ArchivedWrite]] | None" = None,
) -> QueryAnswer:
    """Find the matching completed instants, in the order in which they became visible.

    Args:
        archived: a function that returns the archived writes that became visible after an instant time. `find_instants`
            calls the function only if archived writes can match. If None, only the active timeline counts.

    Raises:
        CorruptTableError: the file of a completed instant is empty or cannot be read. The message names the instant.
    """
    timeline = store.load()
    older = {write.instant: write.metadata for write in _older(timeline, query, archived)}
    matching = [i for i in {*older, *timeline.completed} if query.takes_action(i)]
    matching.sort(key=lambda i: (i.visible_from, i.requested_time, i.action.value))
    if query.needs_metadata:
        matching = [i for i in matching if query.takes_metadata(older.get(i) or _metadata(store, i))]
    return QueryAnswer(
        count=len(matching),
        after=query.after,
        until=matching[-1].visible_from if matching else "",
        instants=tuple(
            seen_instant(instant, older.get(instant) or _metadata(store, instant))
            for instant in matching[-DESCRIBED_INSTANTS:]
        ),
    )


def _older(
    timeline: "Timeline", query: InstantQuery, archived: "Callable[[str], Sequence[ArchivedWrite]] | None"
) -> "Sequence[ArchivedWrite]":
    """Return the archived writes that may match the query.

    In version 6, a write becomes visible at its requested time, so the archive has no match if the query begins after
    the first write of the active timeline. In later versions, a write that ran for a long time may have been archived
    soon after its completion, so the archive has to be read for each query that begins at a certain time.
    """
    if archived is None or not query.after or not timeline.may_have_archive:
        return ()
    has_completion_times = any(i.completion_time is not None for i in timeline.completed_writes)
    return archived(query.after) if has_completion_times or query.after < oldest_visible(timeline) else ()


def oldest_visible(timeline: "Timeline") -> str:
    """Return the start of the period whose writes are on the active timeline.

    The writes that became visible at or after the returned time are on the active timeline, except writes that ran for
    so long that they were archived soon after their completion. Because of savepoints, older writes may be there.
    """
    first = first_write_time(timeline) or ""
    return min((i.visible_from for i in timeline.completed_writes if i.requested_time >= first), default="")


def _metadata(store: "TimelineStore", instant: Instant) -> CommitMetadata | None:
    """Return the metadata of a write, or None.

    The result is None for actions that write no rows, and for a write that was archived after the timeline was read.
    """
    if not instant.action.writes_data:
        return None
    try:
        return store.commit_metadata(instant)
    except ObjectNotFoundError:
        return None


def describe(store: "TimelineStore", instant: Instant) -> SeenInstant:
    """Describe a completed instant of the active timeline.

    The description has no details if the instant was archived after the timeline was read.
    """
    return seen_instant(instant, _metadata(store, instant))


def seen_instant(instant: Instant, metadata: CommitMetadata | None) -> SeenInstant:
    """Describe a completed instant with its metadata; without details if there is no metadata."""
    plain = SeenInstant(
        requested_time=instant.requested_time,
        completion_time=instant.completion_time,
        action=instant.action.value,
    )
    if metadata is None:
        return plain
    return SeenInstant(
        requested_time=plain.requested_time,
        completion_time=plain.completion_time,
        action=plain.action,
        operation=metadata.operation_type.value.lower(),
        partitions=tuple(sorted(touched_partitions(metadata)))[:DESCRIBED_PARTITIONS],
        rows_written=sum(s.num_inserts + s.num_update_writes for s in metadata.write_stats),
    )


def parse_moment(text: str, name: str = "moment") -> datetime | str:
    """Parse an instant time or an ISO date and time.

    Args:
        name: argument that contains the string, for the error.

    Returns:
        The string itself if it is an instant time, else a datetime. If the string contains no time zone, the datetime
        is in UTC.

    Raises:
        InvalidRequestError: the string is neither an instant time nor an ISO date and time.
    """
    text = text.strip()
    if text.isdigit() and 14 <= len(text) <= 20:
        return text
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise InvalidRequestError(
            f"{name}={text!r} is neither an instant time (20130101120000000) nor an ISO date and time."
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
