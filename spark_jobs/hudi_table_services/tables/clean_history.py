"""Facts from the timeline for a clean: the result of the last clean, unfinished cleans, and files of savepoints."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_clean_metadata,
    decode_clean_plan,
    decode_savepoint_metadata,
)
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import CleanMetadata, CleanPlan, SavepointMetadata
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_PLAN_WRITTEN_WITHIN_MS = 60_000


@dataclass(frozen=True, slots=True)
class PendingClean:
    """A clean whose plan is stored and whose deletions may be unfinished."""

    instant: Instant
    plan: CleanPlan


@dataclass(frozen=True, slots=True)
class PendingCleans:
    """The pending cleans of a timeline, oldest first.

    Attributes:
        planned: cleans that have a plan. A job has to finish them.
        abandoned: cleans whose writer died before it wrote the plan. These cleans deleted nothing.
    """

    planned: tuple[PendingClean, ...]
    abandoned: tuple[Instant, ...]


def last_clean(table: TableAccess, timeline: Timeline) -> CleanMetadata | None:
    """Result of the newest completed clean of the active timeline; None if it is missing or unreadable."""
    for instant in reversed(timeline.completed):
        if instant.action is Action.CLEAN:
            try:
                return decode_clean_metadata(table.timeline_store.read(instant))
            except (ObjectNotFoundError, MalformedMetadataError) as error:
                _LOG.warning(
                    "Clean %s cannot be read (%s); all partitions are checked.", instant.requested_time, error
                )
                return None
    return None


@dataclass(frozen=True, slots=True)
class PastClean:
    """A completed clean and its result."""

    instant: Instant
    metadata: CleanMetadata


def clean_of_request(table: TableAccess, timeline: Timeline, request_id: str) -> PastClean | None:
    """The newest completed clean that this request began; None if the active timeline has no such clean."""
    for instant in reversed(timeline.completed):
        if instant.action is Action.CLEAN:
            # The clean may have just been archived, or its file may be damaged.
            with suppress(ObjectNotFoundError, MalformedMetadataError):
                metadata = decode_clean_metadata(table.timeline_store.read(instant))
                if metadata.extra_metadata.get(REQUEST_ID_KEY) == request_id:
                    return PastClean(instant, metadata)
    return None


def pending_cleans(table: TableAccess, timeline: Timeline) -> PendingCleans:
    """Read the plan of each pending clean once. A young clean without a plan is left out: its writer may be alive.

    Raises:
        MalformedMetadataError: a plan cannot be read.
    """
    planned, abandoned = [], []
    for instant, content in _stored_plans(table, timeline):
        if content:
            with naming(table.timeline_store.requested_path_of(instant)):
                planned.append(PendingClean(instant, decode_clean_plan(content)))
        elif _is_abandoned(table, instant):
            abandoned.append(instant)
    return PendingCleans(tuple(planned), tuple(abandoned))


def _stored_plans(table: TableAccess, timeline: Timeline) -> Iterator[tuple[Instant, bytes]]:
    for instant in timeline.pending:
        if instant.action is Action.CLEAN:
            with suppress(ObjectNotFoundError):  # another job just finished or removed the clean
                yield instant, table.timeline_store.read_requested(instant)


def _is_abandoned(table: TableAccess, instant: Instant) -> bool:
    """Whether a clean without a plan is dead, according to its age.

    On a local disk, Hudi creates an empty file first and then writes the plan, so a young clean may be alive.
    """
    try:
        begun_ms = table.storage.modified_ms(table.timeline_store.path_of(instant))
    except ObjectNotFoundError:
        return False
    return table.clock.now().timestamp() * 1000 - begun_ms > _PLAN_WRITTEN_WITHIN_MS


def savepointed_names(table: TableAccess, timeline: Timeline) -> dict[str, frozenset[str]]:
    """Map the requested time of each savepoint to the names of the files that the savepoint keeps.

    Raises:
        MalformedMetadataError: a savepoint cannot be read. Callers must not delete anything in this case.
    """
    return {
        instant.requested_time: _kept_names(table, instant)
        for instant in timeline.completed
        if instant.action is Action.SAVEPOINT
    }


def savepointed_paths(table: TableAccess, timeline: Timeline) -> frozenset[str]:
    """Paths of the files that savepoints keep. Raises the errors of `savepointed_names`."""
    return frozenset(
        join_path(folder, name)
        for instant in timeline.completed
        if instant.action is Action.SAVEPOINT
        for folder, partition in _kept(table, instant).partitions.items()
        for name in partition.file_names
    )


def _kept_names(table: TableAccess, savepoint: Instant) -> frozenset[str]:
    kept = _kept(table, savepoint)
    return frozenset(name for partition in kept.partitions.values() for name in partition.file_names)


def _kept(table: TableAccess, savepoint: Instant) -> SavepointMetadata:
    with naming(table.timeline_store.path_of(savepoint)):
        return decode_savepoint_metadata(table.timeline_store.read(savepoint))
