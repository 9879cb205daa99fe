"""Decide whether a compaction is due (ScheduleCompactionActionExecutor, CompactionUtils; Hudi 0.15.0 and 1.2.0).

Hudi counts the delta commits after the last completed ``commit``. Release 0.15.0 compares requested times and also
counts pending delta commits. Release 1.2.0 compares the completion time of each delta commit with the requested time of
the compaction, and counts completed delta commits. For the trigger NUM_COMMITS_AFTER_LAST_REQUEST, both releases count
pending delta commits, compare requested times, and begin at the newest pending compaction even if a later compaction is
completed. As 1.2.0 does, this module counts the delta commits whose log files the compaction did not merge: those that
completed at or after the compaction's requested time. This module differs from both releases in four points:

- Pending delta commits never count, because a dead writer can leave any number of them.
- Log compactions do not count, because they contain no new rows. Hudi counts each one as a delta commit.
- A ``commit`` with a write operation other than COMPACT is not a compaction. Such commits exist if the table was a
  copy-on-write table earlier.
- For NUM_COMMITS_AFTER_LAST_REQUEST, the count begins at the compaction with the latest requested time, whether this
  compaction is pending or completed.

As in Hudi, NUM_COMMITS ignores pending compactions: while a compaction is pending, a further plan contains the
remaining slices. Also as in Hudi, TIME_ELAPSED requires no new delta commit after a compaction, because a compaction
whose plan reached a bound leaves log files.
"""

from collections.abc import Mapping
from datetime import tzinfo

from hudi_table_services.contract.text import counted, human_time
from hudi_table_services.model.compaction.compaction_proposal import CompactionDue
from hudi_table_services.model.compaction.compaction_settings import CompactionOptions, CompactionTrigger
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.keys.compaction import MAX_DELTA_COMMITS, MAX_DELTA_SECONDS
from hudi_table_services.planning.metadata_table.instant_times import instant_millis

_BY_TIME_ONLY = frozenset({CompactionTrigger.TIME_ELAPSED})
_BY_NUMBER_ONLY = frozenset({CompactionTrigger.NUM_COMMITS, CompactionTrigger.NUM_COMMITS_AFTER_LAST_REQUEST})
_NO_DELTA_COMMIT = "the active timeline has no completed delta commit"


def compaction_due(
    timeline: Timeline,
    options: CompactionOptions,
    operations: Mapping[str, WriteOperation],
    now: str,
    zone: tzinfo,
    limit_name: str = MAX_DELTA_COMMITS.key,
) -> CompactionDue:
    """Compare the delta commits and the time since the last compaction with the limits of the options.

    Args:
        operations: maps the requested time of completed commits and delta commits to their write operation. If an
            operation is missing or unknown, a commit counts as a compaction, and a delta commit counts as a write.
        now: instant time at which the compaction would be requested.
        zone: time zone of the timeline.
        limit_name: name of the setting that contains the number of delta commits, for the reason.

    Raises:
        MalformedMetadataError: the time of the compared instant is not a valid time.
    """
    since = _last_compaction(timeline, options.trigger, operations)
    unmerged = [
        i
        for i in timeline.completed
        if i.action is Action.DELTA_COMMIT and (since is None or i.visible_from >= since.requested_time)
    ]
    written = [i for i in unmerged if operations.get(i.requested_time) is not WriteOperation.LOG_COMPACT]
    start = since or (written[0] if written else None)
    if start is None:
        return CompactionDue(
            is_due=False, reason=_NO_DELTA_COMMIT, delta_commits=0, not_counted=len(unmerged)
        )
    elapsed = (instant_millis(now, zone) // 1000) - (instant_millis(start.requested_time, zone) // 1000)
    return CompactionDue(
        is_due=_is_due(len(written), elapsed, options),
        reason=_reason(len(written), elapsed, start, options, limit_name),
        delta_commits=len(written),
        not_counted=len(unmerged) - len(written),
        since=since,
        elapsed_seconds=elapsed,
    )


def _last_compaction(
    timeline: Timeline, trigger: CompactionTrigger, operations: Mapping[str, WriteOperation]
) -> Instant | None:
    wants_pending = trigger is CompactionTrigger.NUM_COMMITS_AFTER_LAST_REQUEST
    found = [
        i
        for i in timeline
        if (i.is_completed and _is_compaction(i, operations))
        or (wants_pending and not i.is_completed and i.action is Action.COMPACTION)
    ]
    return found[-1] if found else None  # the timeline is in the order of requested times


def _is_compaction(instant: Instant, operations: Mapping[str, WriteOperation]) -> bool:
    operation = operations.get(instant.requested_time, WriteOperation.UNKNOWN)
    return instant.action is Action.COMMIT and operation in (WriteOperation.COMPACT, WriteOperation.UNKNOWN)


def _is_due(delta_commits: int, elapsed: int, options: CompactionOptions) -> bool:
    by_number = delta_commits >= options.max_delta_commits
    by_time = elapsed >= options.max_delta_seconds
    if options.trigger in _BY_NUMBER_ONLY:
        return by_number
    if options.trigger in _BY_TIME_ONLY:
        return by_time
    if options.trigger is CompactionTrigger.NUM_AND_TIME:
        return by_number and by_time
    return by_number or by_time


def _reason(
    delta_commits: int, elapsed: int, start: Instant, options: CompactionOptions, limit_name: str
) -> str:
    number = (
        f"{counted(delta_commits, 'delta commit')} since {_described(start)}, "
        f"{'at least' if delta_commits >= options.max_delta_commits else 'fewer than'} "
        f"{limit_name}={options.max_delta_commits}"
    )
    time = (
        f"{human_time(elapsed)} since {_described(start)}, "
        f"{'at least' if elapsed >= options.max_delta_seconds else 'less than'} "
        f"{MAX_DELTA_SECONDS}={options.max_delta_seconds}"
    )
    if options.trigger in _BY_NUMBER_ONLY:
        return number
    return time if options.trigger in _BY_TIME_ONLY else f"{number}; {time}"


def _described(start: Instant) -> str:
    if start.action is Action.DELTA_COMMIT:
        return f"the first delta commit {start.requested_time}"
    return f"compaction {start.requested_time} ({start.state.value})"
