"""Choose the completed instants that leave the active timeline (TimelineArchiverV1, V2; Hudi 1.2).

Readers treat a file as committed if the file's instant is older than the first write of the active timeline. Therefore,
archival begins with the oldest completed writes. Archival keeps a write in the active timeline as long as a job needs
this write for a decision about a later instant, for example for a check for conflicts.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import takewhile

from hudi_table_services.contract.text import counted
from hudi_table_services.model.archival import ArchivalBound, ArchivalOptions, ArchivalPlan
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline

_FOLLOWING = (Action.CLEAN, Action.ROLLBACK)
"""Actions that are archived besides writes, as in Hudi. An instant of such an action is archived when a later write is
archived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalFacts:
    """Facts for archival that the names of the timeline's files do not show.

    Attributes:
        retained_by_clean: earliest commit that the last clean retained; empty if no clean names such a commit.
        has_metadata_table: whether the table's properties list an active metadata table.
        metadata_compacted_at: requested time of the metadata table's last compaction; empty if there was no compaction.
        barriers: additional bounds that follow from files on storage.
        archived: identities of active instants that the archive already contains, because an archival died before it
            could delete them from the active timeline.
        delta_commits: number of delta commits that must stay active, because they make the next compaction due; 0 for
            a copy-on-write table.
    """

    retained_by_clean: str = ""
    has_metadata_table: bool = False
    metadata_compacted_at: str = ""
    barriers: tuple[ArchivalBound, ...] = ()
    archived: frozenset[tuple[str, Action]] = frozenset()
    delta_commits: int = 0


def plan_archival(timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts) -> ArchivalPlan:
    """If there are more than `max_commits` completed writes, plan to archive the oldest until `min_commits` remain.

    The plan keeps all writes that are not older than the earliest of these bounds:

    - a pending instant, together with the write before the instant and every write completed after the instant began
    - the earliest commit that the last clean retained
    - the first savepoint, unless `beyond_savepoint` is set
    - the last compaction of the metadata table
    - the barriers of `facts`
    - in merge-on-read tables, the newest `facts.delta_commits` delta commits since the last completed compaction,
      because they make the next compaction due. If there are fewer delta commits, the bound is the earliest instant
      among these delta commits and the last compaction (CompactionUtils.getEarliestInstantToRetainForCompaction)
    """
    writes = timeline.completed_writes
    wanted = _wanted(writes, options, facts.archived)
    if wanted == 0:
        reason = (
            f"the timeline has {counted(len(writes), 'commit')}; archival begins when it has more than "
            f"{options.max_commits}"
        )
        return _plan((), writes, 0, None, reason)
    bound = min(_bounds(timeline, options, facts), default=None)
    saved = _savepointed(timeline) if options.beyond_savepoint else frozenset()
    leaving = [i for i in writes[:wanted] if i.requested_time not in saved]
    free = [i for i in leaving if bound is None or i.requested_time < bound.time]
    held_back_by = bound if len(free) < len(leaving) else None
    reason = f"{len(free)} of {counted(len(writes), 'commit')} archived, {len(writes) - len(free)} kept"
    if held_back_by is not None:
        reason += f"; {len(leaving) - len(free)} more would be archived, but {held_back_by.reason}"
    return _plan(_with_followers(timeline, free), writes, len(leaving), held_back_by, reason)


def _wanted(
    writes: Sequence[Instant], options: ArchivalOptions, archived: Collection[tuple[str, Action]]
) -> int:
    """Return how many of the oldest writes to archive.

    If there are at most `max_commits` writes, the plan only finishes an archival that died.
    """
    excess = max(len(writes) - options.min_commits, 0)
    already_archived = sum(1 for _ in takewhile(lambda instant: instant.identity in archived, writes))
    return excess if len(writes) > options.max_commits else min(already_archived, excess)


def _plan(
    instants: Sequence[Instant],
    writes: Sequence[Instant],
    wanted: int,
    held_back_by: ArchivalBound | None,
    reason: str,
) -> ArchivalPlan:
    return ArchivalPlan(
        instants=tuple(instants), commits=len(writes), wanted=wanted, held_back_by=held_back_by, reason=reason
    )


def _bounds(timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts) -> list[ArchivalBound]:
    found = [*facts.barriers]
    if timeline.pending:
        found.append(_bound_of_pending(timeline))
    if facts.retained_by_clean:
        reason = f"the last clean retains commits from {facts.retained_by_clean} on"
        found.append(ArchivalBound(time=facts.retained_by_clean, reason=reason))
    savepoints = _savepointed(timeline)
    if savepoints and not options.beyond_savepoint:
        reason = f"savepoint {min(savepoints)} blocks archival"
        found.append(ArchivalBound(time=min(savepoints), reason=reason))
    if facts.has_metadata_table:
        reason = "the metadata table was never compacted"
        if facts.metadata_compacted_at:
            reason = f"the metadata table was last compacted at {facts.metadata_compacted_at}"
        found.append(ArchivalBound(time=facts.metadata_compacted_at, reason=reason))
    if facts.delta_commits and (bound := _bound_of_compaction(timeline, facts.delta_commits)) is not None:
        found.append(bound)
    return found


def _bound_of_compaction(timeline: Timeline, delta_commits: int) -> ArchivalBound | None:
    """Return the bound that keeps the newest `delta_commits` delta commits since the last compaction.

    If there are fewer delta commits since the last compaction, the bound also keeps this compaction.

    As in `planning.compaction.trigger`, a delta commit counts if it was completed at or after the requested time of the
    compaction. The result is None if the timeline has neither a compaction nor a delta commit.
    """
    compactions = [i for i in timeline.completed if i.action is Action.COMMIT]
    since = compactions[-1].requested_time if compactions else ""
    unmerged = [
        i.requested_time
        for i in timeline.completed
        if i.action is Action.DELTA_COMMIT and i.visible_from >= since
    ]
    if len(unmerged) >= delta_commits:
        time = unmerged[-delta_commits]
        reason = f"the last {counted(delta_commits, 'delta commit')} stay for the next compaction"
        return ArchivalBound(time=time, reason=reason)
    first = min([*([since] if since else []), *unmerged], default=None)
    if first is None:
        return None
    reason = (
        f"{counted(len(unmerged), 'delta commit')} since the last compaction stay for the next compaction"
    )
    return ArchivalBound(time=first, reason=reason)


def _bound_of_pending(timeline: Timeline) -> ArchivalBound:
    """Return the bound that follows from the oldest pending instant.

    The writer that completes the instant checks for conflicts with all writes that completed since the instant began.
    For this check, the writer also needs the write before the instant.
    """
    oldest = timeline.pending[0]
    before = [i.requested_time for i in timeline.completed_writes if i.requested_time < oldest.requested_time]
    completed_since = [
        i.requested_time for i in timeline.completed_writes if i.visible_from > oldest.requested_time
    ]
    return ArchivalBound(
        time=min([oldest.requested_time, *before[-1:], *completed_since]),
        reason=f"pending {oldest.action.value} {oldest.requested_time} blocks archival",
    )


def _savepointed(timeline: Timeline) -> frozenset[str]:
    return frozenset(i.requested_time for i in timeline if i.action is Action.SAVEPOINT)


def _with_followers(timeline: Timeline, writes: Collection[Instant]) -> list[Instant]:
    """Return the writes, and all cleans and rollbacks before the newest write. Leave out the last clean."""
    if not writes:
        return []
    newest = max(i.requested_time for i in writes)
    cleans = [i for i in timeline.completed if i.action is Action.CLEAN]
    followers = [
        i
        for i in timeline.completed
        if i.action in _FOLLOWING and i.requested_time < newest and i not in cleans[-1:]
    ]
    return sorted([*writes, *followers], key=lambda i: (i.requested_time, i.action.value))
