"""Plan cleaning and archival of the metadata table, and limit the archival of the table (Hudi 1.2).

In version 6, readers ignore a log block of the metadata table if the instant of the block is no longer in the active
timeline of the table. So archival of the table must stop before the first instant that the metadata table has not
compacted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from hudi_table_services.contract.text import counted
from hudi_table_services.model.archival import ArchivalBound
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TimelineLayout
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.metadata_table.compaction import (
    ServiceDecision,
    Timelines,
    delta_commits_since_compaction,
    last_compaction,
    not_now,
)

KEPT_SLICES = 2
"""Number of older slices of each file group that stay besides the newest slice. Readers that have already listed the
files may still open them."""

_INSTANTS_BEFORE_CLEAN = 3
_CLEAN_SUFFIX = "002"
_YEAR_OF_FIRST_INSTANTS = "0000"
_COMMIT_TIME_DIGITS = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataArchivalPlan:
    """The instants that leave the active timeline of the metadata table.

    Attributes:
        instants: the oldest instants, oldest first.
        reason: why these instants leave, or why no instant leaves.
    """

    instants: tuple[Instant, ...]
    reason: str


def decide_clean(timelines: Timelines) -> ServiceDecision:
    """Decide whether to delete old slices of the metadata table now.

    As in Hudi, the clean waits until three instants follow the last compaction, because a reader that began before the
    compaction may still open the files of the earlier slice. Only one clean follows each compaction, because only a
    compaction replaces slices. As long as there were at most `KEPT_SLICES` compactions, no slice is outdated.
    """
    last = last_compaction(timelines.metadata)
    if last is None:
        return not_now("the metadata table was never compacted")
    compactions = sum(instant.action is Action.COMMIT for instant in timelines.metadata.completed)
    if compactions <= KEPT_SLICES and _is_whole(timelines.metadata):
        return not_now(
            f"{counted(compactions, 'compaction')} so far, and a clean keeps {KEPT_SLICES} older slices"
        )
    if timelines.metadata.pending:
        pending = timelines.metadata.pending[0]
        return not_now(f"{pending.action.value} {pending.requested_time} of the metadata table is pending")
    later = [i for i in timelines.metadata if i.requested_time > last.requested_time]
    if len(later) < _INSTANTS_BEFORE_CLEAN:
        return not_now(
            f"{counted(len(later), 'instant')} since compaction {last.requested_time}; the clean begins with "
            f"{_INSTANTS_BEFORE_CLEAN}"
        )
    cleans = [i for i in later if i.action is Action.CLEAN]
    if cleans:
        return not_now(f"clean {cleans[-1].requested_time} follows compaction {last.requested_time}")
    reason = f"{counted(len(later), 'instant')} since compaction {last.requested_time}"
    if timelines.version.layout is TimelineLayout.V2:
        return ServiceDecision(instant_time=timelines.fresh_instant, reason=reason)
    newest = delta_commits_since_compaction(timelines.metadata)
    time = newest[-1].requested_time if newest else ""
    if len(time) != _COMMIT_TIME_DIGITS:
        return not_now("the last delta commit of the metadata table belongs to no commit of the table")
    return ServiceDecision(instant_time=time + _CLEAN_SUFFIX, reason=reason)


def _is_whole(metadata: Timeline) -> bool:
    """Whether no instant was archived.

    The first instants of a metadata table have times of the year 0, so they are archived first. If a partition was
    built again after an archival, the result is True as well. Then a clean may be later than necessary.
    """
    return not metadata.may_have_archive or metadata.instants[0].requested_time.startswith(
        _YEAR_OF_FIRST_INSTANTS
    )


def superseded_slices(
    slices: Mapping[FileGroupId, Sequence[FileSlice]], kept: int = KEPT_SLICES
) -> tuple[FileSlice, ...]:
    """Return the slices that a clean deletes.

    The clean keeps the newest slice with a base file, and `kept` slices before this slice. The clean also keeps all
    later slices, which have only log files.
    """
    deleted: list[FileSlice] = []
    for group in sorted(slices):
        ordered = sorted(slices[group], key=lambda s: s.base_instant_time)
        bases = [number for number, file_slice in enumerate(ordered) if file_slice.base_file is not None]
        deleted += ordered[: max(bases[-1] - kept, 0)] if bases else []
    return tuple(deleted)


def plan_metadata_archival(timelines: Timelines, min_instants: int) -> MetadataArchivalPlan:
    """Plan which instants leave the active timeline of the metadata table.

    An instant leaves only if it is earlier than all of these instants: the last compaction, the delta commits that were
    requested before the compaction but that the compaction does not contain, the pending instants, the earliest write
    in the active timeline of the table, and the newest `min_instants` instants.
    """
    metadata = timelines.metadata
    bound = compacted_until(metadata)
    if bound is None:
        return MetadataArchivalPlan(instants=(), reason="the metadata table was never compacted")
    writes = timelines.table.completed_writes
    limits = [
        bound.time,
        *(i.requested_time for i in writes[:1]),
        *(i.requested_time for i in metadata.pending[:1]),
    ]
    limit = min(limits)
    oldest = metadata.instants[: max(len(metadata) - min_instants, 0)]
    leaving = tuple(takewhile(lambda i: i.requested_time < limit, oldest))
    return MetadataArchivalPlan(
        instants=leaving,
        reason=f"instants before {limit} and before the newest {min_instants}: {len(leaving)} of {len(metadata)}",
    )


def archival_bound(metadata: Timeline) -> ArchivalBound:
    """Return the bound of the table's archival: instants at or after this time stay in the table's active timeline."""
    bound = compacted_until(metadata)
    return bound or ArchivalBound(time="", reason="the metadata table was never compacted")


def compacted_until(metadata: Timeline) -> ArchivalBound | None:
    """Return the time before which every commit is in base files of the metadata table; None without a compaction.

    The result is the requested time of the first delta commit that was requested before the last compaction but is not
    in its base files, because the delta commit completed later or is pending. If there is no such delta commit, the
    result is the requested time of the last compaction.
    """
    last = last_compaction(metadata)
    if last is None:
        return None
    reason = f"the metadata table was last compacted at {last.requested_time}"
    open_commits = [
        i.requested_time
        for i in (*delta_commits_since_compaction(metadata), *metadata.pending)
        if i.action is Action.DELTA_COMMIT and i.requested_time < last.requested_time
    ]
    if not open_commits:
        return ArchivalBound(time=last.requested_time, reason=reason)
    return ArchivalBound(
        time=min(open_commits), reason=f"{reason}, without the delta commit {min(open_commits)}"
    )
