"""From which commit on a clean keeps everything (CleanerUtils.getEarliestCommitToRetain, Hudi 1.2).

Beyond Hudi: pending instants bound cleaning by hours too, a floor in hours bounds every policy, a run may be limited
to some commits, and the instant that holds cleaning back is named.
"""

from collections.abc import Mapping, Sequence

from hudi_table_services.model.clean import CleanOptions, CleanPolicy, Retention
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.timeline import Timeline


def retain_from(
    timeline: Timeline,
    options: CleanOptions,
    *,
    hours_cutoff: str,
    floor_cutoff: str,
    visible_at: Mapping[str, str],
    retained_before: str | None = None,
) -> Retention:
    """The earliest commit that stays reachable.

    Args:
        hours_cutoff: instant time `hours_retained` ago.
        floor_cutoff: instant time `floor_hours` ago.
        visible_at: requested time of completed writes → instant time at which readers began to see them.
        retained_before: the earliest commit that the last clean retained; a run is limited from there, and it never
            moves back.
    """
    if options.policy is CleanPolicy.KEEP_LATEST_FILE_VERSIONS:
        kept = options.file_versions_retained
        return Retention(earliest=None, reason=f"{kept} versions of each file group are kept")
    done = timeline.completed_writes
    wanted, reason = _by_policy(done, options, hours_cutoff)
    if wanted is None:
        return Retention(earliest=None, reason=reason)
    chosen, floored = _at_most(done, wanted, _first_from(done, floor_cutoff, visible_at))
    if floored:
        reason = f"{reason}; what is younger than {options.floor_hours:g} h stays"
    if options.max_commits_per_run is not None:
        limit = _limit(done, options.max_commits_per_run, retained_before)
        chosen, limited = _at_most(done, chosen, limit)
        if limited:
            reason = f"{reason}; at most {options.max_commits_per_run} commits are cleaned in one run"
    if retained_before is not None and chosen.requested_time < retained_before:
        # What lies before is gone already, whatever the retention is now.
        chosen = next((i for i in done if i.requested_time >= retained_before), chosen)
        reason = f"{reason}; an earlier clean kept no more than what is needed since {retained_before}"
    return _bounded(timeline, done, chosen, reason)


def _by_policy(
    done: Sequence[Instant], options: CleanOptions, hours_cutoff: str
) -> tuple[Instant | None, str]:
    if options.policy is CleanPolicy.KEEP_LATEST_BY_HOURS:
        first = next((i for i in done if i.requested_time >= hours_cutoff), None)
        if first is None:
            return (
                None,
                f"no commit within {options.hours_retained} hours, so the latest state is kept as it is",
            )
        return first, f"commits of the last {options.hours_retained} hours are kept"
    kept = options.commits_retained
    if len(done) <= kept:
        return None, f"{len(done)} commits, {kept} are kept"
    return done[len(done) - kept], f"{kept} of {len(done)} commits are kept"


def _first_from(done: Sequence[Instant], cutoff: str, visible_at: Mapping[str, str]) -> int:
    """Place of the first write that became visible at the cutoff or later; all before are older."""
    times = (visible_at.get(i.requested_time, i.visible_from) for i in done)
    return next((place for place, time in enumerate(times) if time >= cutoff), len(done) - 1)


def _at_most(done: Sequence[Instant], chosen: Instant, place: int) -> tuple[Instant, bool]:
    """The earlier of an instant and the one at a place, and whether that was the latter."""
    if done[place].requested_time < chosen.requested_time:
        return done[place], True
    return chosen, False


def _limit(done: Sequence[Instant], commits: int, retained_before: str | None) -> int:
    first = 0
    if retained_before is not None:
        first = next((place for place, i in enumerate(done) if i.requested_time >= retained_before), 0)
    return min(first + commits, len(done) - 1)


def _bounded(timeline: Timeline, done: Sequence[Instant], chosen: Instant, reason: str) -> Retention:
    """Nothing newer than a pending write or service may be cleaned: it may read, or still become, what lies there."""
    blocker = next((i for i in timeline.pending if i.action.writes_data), None)
    if blocker is None or chosen.requested_time <= blocker.requested_time:
        return Retention(earliest=chosen, reason=reason)
    before = [i for i in done if i.requested_time < blocker.requested_time]
    held = f"pending {blocker.action.value} {blocker.requested_time} holds cleaning back"
    return Retention(earliest=before[-1] if before else None, blocker=blocker, reason=f"{reason}, but {held}")
