"""Which completed instants leave the active timeline (TimelineArchiverV1, V2; Hudi 1.2).

Readers take every file of an instant that is older than the first write of the active timeline for committed. So
completed writes leave oldest first, and never one that something younger than it is still decided by.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import takewhile

from hudi_table_services.model.archival import ArchivalBound, ArchivalOptions, ArchivalPlan
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline

_FOLLOWING = (Action.CLEAN, Action.ROLLBACK)
"""Actions besides writes that are archived, with the writes around them; all others stay, as in Hudi."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalFacts:
    """What the timeline's names do not tell.

    Attributes:
        retained_by_clean: earliest commit that the last clean retained; empty: no clean says one.
        has_metadata_table: the table lists an active metadata table.
        metadata_compacted_at: requested time of its last compaction; empty: there was none.
        barriers: bounds that files on storage set.
        archived: identities of instants that the archive holds already: a run died before it could delete them.
    """

    retained_by_clean: str = ""
    has_metadata_table: bool = False
    metadata_compacted_at: str = ""
    barriers: tuple[ArchivalBound, ...] = ()
    archived: frozenset[tuple[str, Action]] = frozenset()


def plan_archival(timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts) -> ArchivalPlan:
    """The oldest completed writes down to `min_commits`, where there are more than `max_commits`.

    What is bound by one of these stays, with all that follows: a pending instant (the write before it too, and any
    that was completed after it began), the earliest commit that the last clean retained, a savepoint, the last
    compaction of the metadata table, and what the files say.
    """
    writes = timeline.completed_writes
    wanted = _wanted(writes, options, facts.archived)
    if wanted == 0:
        reason = f"{len(writes)} commits, archival begins above {options.max_commits}"
        return _plan((), writes, 0, None, reason)
    bound = min(_bounds(timeline, options, facts), default=None)
    saved = _savepointed(timeline) if options.beyond_savepoint else frozenset()
    leaving = [i for i in writes[:wanted] if i.requested_time not in saved]
    free = [i for i in leaving if bound is None or i.requested_time < bound.time]
    held_back_by = bound if len(free) < len(leaving) else None
    reason = f"{len(free)} of {len(writes)} commits go, {len(writes) - len(free)} stay"
    if held_back_by is not None:
        reason += f"; {len(leaving) - len(free)} more would go, but {held_back_by.reason}"
    return _plan(_with_followers(timeline, free), writes, len(leaving), held_back_by, reason)


def _wanted(
    writes: Sequence[Instant], options: ArchivalOptions, archived: Collection[tuple[str, Action]]
) -> int:
    """How many of the oldest writes should go; those of a run that died go on, however few commits are left."""
    excess = max(len(writes) - options.min_commits, 0)
    half_done = sum(1 for _ in takewhile(lambda instant: instant.identity in archived, writes))
    return excess if len(writes) > options.max_commits else min(half_done, excess)


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
        reason = f"savepoint {min(savepoints)} holds archival back"
        found.append(ArchivalBound(time=min(savepoints), reason=reason))
    if facts.has_metadata_table:
        reason = "the metadata table was never compacted"
        if facts.metadata_compacted_at:
            reason = f"the metadata table was last compacted at {facts.metadata_compacted_at}"
        found.append(ArchivalBound(time=facts.metadata_compacted_at, reason=reason))
    return found


def _bound_of_pending(timeline: Timeline) -> ArchivalBound:
    """Whoever finishes it compares it with what was completed since it began, and with the write before it."""
    oldest = timeline.pending[0]
    before = [i.requested_time for i in timeline.completed_writes if i.requested_time < oldest.requested_time]
    meanwhile = [
        i.requested_time for i in timeline.completed_writes if i.visible_from > oldest.requested_time
    ]
    return ArchivalBound(
        time=min([oldest.requested_time, *before[-1:], *meanwhile]),
        reason=f"pending {oldest.action.value} {oldest.requested_time} holds archival back",
    )


def _savepointed(timeline: Timeline) -> frozenset[str]:
    return frozenset(i.requested_time for i in timeline if i.action is Action.SAVEPOINT)


def _with_followers(timeline: Timeline, writes: Collection[Instant]) -> list[Instant]:
    """The writes with the cleans and rollbacks between them; the last clean stays, since the next goes by it."""
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
