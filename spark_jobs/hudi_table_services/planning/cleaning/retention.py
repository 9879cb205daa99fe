"""Choose the earliest commit whose state stays readable (CleanerUtils.getEarliestCommitToRetain, Hudi 1.2).

This module adds three rules to those of Hudi. Pending instants limit not only cleaning by commits but also cleaning by
hours. File versions that became outdated less than `floor_hours` hours ago are kept; for the policy that counts file
versions, `planning.cleaning.partition` applies this rule. An option limits one clean to a number of commits. The result
names the instant that limits the clean.
"""

from collections.abc import Mapping, Sequence

from hudi_table_services.contract.text import counted
from hudi_table_services.model.cleaning import CleanOptions, CleanPolicy, Retention
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.timeline import Timeline

_WHOLE_SECOND = "000"


def retain_from(
    timeline: Timeline,
    options: CleanOptions,
    *,
    hours_cutoff: str,
    floor_cutoff: str,
    visible_at: Mapping[str, str],
    retained_before: str | None = None,
) -> Retention:
    """Choose the earliest commit whose state time travel can still read after the clean.

    Args:
        hours_cutoff: the time `hours_retained` hours ago, as an instant time.
        floor_cutoff: the time `floor_hours` hours ago, as an instant time.
        visible_at: maps the requested time of each completed write to the instant time at which readers began to see
            the write.
        retained_before: the earliest commit that the last clean retained. The limit on commits per clean counts from
            this commit, and the result is never earlier than this commit.
    """
    if options.policy is CleanPolicy.KEEP_LATEST_FILE_VERSIONS:
        kept = options.file_versions_retained
        return Retention(
            earliest=None, reason=f"cleaning keeps {counted(kept, 'version')} of each file group"
        )
    done = timeline.completed_writes
    wanted, reason = _by_policy(done, options, hours_cutoff)
    if wanted is None:
        return Retention(earliest=None, reason=reason)
    chosen, floored = _at_most(done, wanted, _first_from(done, floor_cutoff, visible_at))
    if floored:
        reason = f"{reason}; file versions that have been outdated for less than {options.floor_hours:g} h are kept"
    if options.max_commits_per_run is not None:
        limit = _limit(done, options.max_commits_per_run, retained_before)
        chosen, limited = _at_most(done, chosen, limit)
        if limited:
            reason = f"{reason}; one run cleans at most {counted(options.max_commits_per_run, 'commit')}"
    if retained_before is not None and chosen.requested_time < retained_before:
        # The last clean has already deleted the versions from before `retained_before`. A longer retention cannot keep
        # these versions.
        chosen = next((i for i in done if i.requested_time >= retained_before), chosen)
        reason = f"{reason}; an earlier clean already deleted versions that were needed only before {retained_before}"
    return _bounded(timeline, chosen, reason, visible_at)


def _by_policy(
    done: Sequence[Instant], options: CleanOptions, hours_cutoff: str
) -> tuple[Instant | None, str]:
    if options.policy is CleanPolicy.KEEP_LATEST_BY_HOURS:
        first = next((i for i in done if i.requested_time >= hours_cutoff), None)
        if first is None:
            return (
                None,
                f"no commit within {counted(options.hours_retained, 'hour')}, so nothing is cleaned",
            )
        return first, f"cleaning keeps the commits of the last {counted(options.hours_retained, 'hour')}"
    kept = options.commits_retained
    if len(done) <= kept:
        return None, f"{counted(len(done), 'commit')}; cleaning keeps {kept}"
    return done[len(done) - kept], f"cleaning keeps {kept} of {counted(len(done), 'commit')}"


def _first_from(done: Sequence[Instant], cutoff: str, visible_at: Mapping[str, str]) -> int:
    """Return the index of the first write that became visible at or after the cutoff, or else of the last write."""
    return next((index for index, i in enumerate(done) if _seen_from(i, visible_at) >= cutoff), len(done) - 1)


def _seen_from(write: Instant, visible_at: Mapping[str, str]) -> str:
    return visible_at.get(write.requested_time, write.visible_from)


def _at_most(done: Sequence[Instant], chosen: Instant, index: int) -> tuple[Instant, bool]:
    """Return the earlier of `chosen` and the instant at `index`, and whether the result is the instant at `index`."""
    if done[index].requested_time < chosen.requested_time:
        return done[index], True
    return chosen, False


def _limit(done: Sequence[Instant], commits: int, retained_before: str | None) -> int:
    first = 0
    if retained_before is not None:
        first = next((index for index, i in enumerate(done) if i.requested_time >= retained_before), 0)
    return min(first + commits, len(done) - 1)


def _bounded(timeline: Timeline, chosen: Instant, reason: str, visible_at: Mapping[str, str]) -> Retention:
    """Return a retention that also keeps all states of the table since the oldest pending write or service began.

    The pending write or service may still read the file versions that were current when it began. The file versions
    that it creates have this time in their names. A write that was requested before that time, and completed after it,
    was not visible yet, so the state before that write is kept, too. Without the files of that state, a pending write
    of Hudi does not find the keys in them, and stores their rows a second time.
    """
    blocker = next((i for i in timeline.pending if i.action.writes_data), None)
    if blocker is None:
        return Retention(earliest=chosen, reason=reason)
    done, began = timeline.completed_writes, blocker.requested_time
    unseen = (i.requested_time for i in done if not _is_seen_before(began, _seen_from(i, visible_at)))
    first = min([began, *unseen])
    if chosen.requested_time < first:
        return Retention(earliest=chosen, reason=reason)
    before = [i for i in done if i.requested_time < first]
    reason = f"{reason}, but pending {blocker.action.value} {began} blocks cleaning"
    return Retention(earliest=before[-1] if before else None, blocker=blocker, reason=reason)


def _is_seen_before(time: str, seen_from: str) -> bool:
    """Whether a write became visible before a time. Object stores record the time of a file in whole seconds."""
    is_whole_second = seen_from.endswith(_WHOLE_SECOND) and seen_from[: -len(_WHOLE_SECOND)] == time[:14]
    return seen_from < time and not is_whole_second
