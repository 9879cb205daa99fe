"""Decide when and at which instant to compact the metadata table (HoodieBackedTableMetadataWriter; Hudi 0.15, 1.2).

A compaction copies the records of log blocks into base files, and readers treat base files as committed. So a
compaction must not read the blocks of an instant that is pending in the table. Otherwise the instant could not be
rolled back any more.
"""

from dataclasses import dataclass

from hudi_table_services.contract.text import counted
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion, TimelineLayout
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.metadata_table.instant_times import one_millisecond_before

_COMPACTION_SUFFIX = "001"
_COMMIT_TIME_DIGITS = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Timelines:
    """The active timelines of a table and of its metadata table.

    Attributes:
        fresh_instant: the current time as an instant time, later than every instant that this process has seen.
    """

    version: TableVersion
    table: Timeline
    metadata: Timeline
    fresh_instant: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceDecision:
    """Whether a service of the metadata table runs now.

    Attributes:
        instant_time: instant of the service; None if the service must not run now.
        reason: why the service runs or does not run, for logs and reports.
    """

    instant_time: str | None
    reason: str

    @property
    def runs(self) -> bool:
        return self.instant_time is not None


def not_now(reason: str) -> ServiceDecision:
    """Return the decision that a service does not run now."""
    return ServiceDecision(instant_time=None, reason=reason)


def decide_compaction(timelines: Timelines, max_delta_commits: int) -> ServiceDecision:
    """Decide whether to compact the metadata table.

    A pending compaction is finished first, at its own instant. In table version 6, any pending instant of the table up
    to the last delta commit of the metadata table prevents compaction.

    From version 8 on, a pending instant of the table matters only if its delta commit in the metadata table is
    completed. The compaction gets an instant before the first such pending instant, and merges only log files that were
    completed before the compaction's instant. So the compaction leaves out the log files of these pending instants.
    Other pending instants, such as plans, complete after the compaction.

    Args:
        max_delta_commits: a compaction starts when the metadata table has this number of delta commits since the last
            compaction; Hudi's default is 10.
    """
    unfinished = [i for i in timelines.metadata.pending if i.action in (Action.COMPACTION, Action.COMMIT)]
    if unfinished:
        time = unfinished[0].requested_time
        return ServiceDecision(
            instant_time=time, reason=f"compaction {time} is pending and is finished first"
        )
    if timelines.metadata.pending:
        return not_now(f"{_name(timelines.metadata.pending[0])} of the metadata table is pending")
    is_old = timelines.version.layout is TimelineLayout.V1
    return (_decide_by_requested_time if is_old else _decide_by_completion_time)(timelines, max_delta_commits)


def last_compaction(metadata: Timeline) -> Instant | None:
    """Return the newest completed compaction in the active timeline of the metadata table; None if there is none."""
    compactions = [i for i in metadata.completed if i.action is Action.COMMIT]
    return compactions[-1] if compactions else None


def delta_commits_since_compaction(metadata: Timeline) -> tuple[Instant, ...]:
    """Return the completed delta commits that the last compaction does not contain; without a compaction, return all.

    In table version 6, these delta commits were requested after the compaction was requested. From version 8 on, they
    were completed after the compaction was requested.
    """
    last = last_compaction(metadata)
    start = last.requested_time if last else ""
    delta_commits = (i for i in metadata.completed if i.action is Action.DELTA_COMMIT)
    return tuple(i for i in delta_commits if i.visible_from > start)


def _decide_by_requested_time(timelines: Timelines, max_delta_commits: int) -> ServiceDecision:
    found = delta_commits_since_compaction(timelines.metadata)
    if len(found) < max_delta_commits:
        return not_now(_too_few(len(found), max_delta_commits))
    last = found[-1].requested_time
    pending = [i for i in timelines.table.pending if i.requested_time <= last]
    if pending:
        return not_now(
            f"{_name(pending[0])} is pending, and the metadata table has delta commits up to {last}"
        )
    if len(last) != _COMMIT_TIME_DIGITS:
        return not_now(
            f"the last delta commit {last} of the metadata table belongs to no commit of the table"
        )
    instant_time = last + _COMPACTION_SUFFIX
    return ServiceDecision(instant_time=instant_time, reason=_enough(len(found)))


def _decide_by_completion_time(timelines: Timelines, max_delta_commits: int) -> ServiceDecision:
    found = delta_commits_since_compaction(timelines.metadata)
    if len(found) < max_delta_commits:
        return not_now(_too_few(len(found), max_delta_commits))
    newest = max(i.visible_from for i in found)
    if timelines.fresh_instant <= newest:
        return not_now(
            f"the clock shows {timelines.fresh_instant}, but a delta commit was completed at {newest}: the clocks of "
            "the writers differ"
        )
    written = {i.requested_time for i in timelines.metadata.completed}
    pending = [i for i in timelines.table.pending if i.requested_time in written]
    if not pending:
        return ServiceDecision(instant_time=timelines.fresh_instant, reason=_enough(len(found)))
    return _decide_before(pending[0], timelines.metadata, max_delta_commits)


def _decide_before(pending: Instant, metadata: Timeline, max_delta_commits: int) -> ServiceDecision:
    instant_time = one_millisecond_before(pending.requested_time)
    while metadata.find(instant_time):
        instant_time = one_millisecond_before(instant_time)
    found = delta_commits_since_compaction(metadata)
    included = [i for i in found if i.visible_from < instant_time]
    if len(included) < max_delta_commits:
        reason = _too_few(len(included), max_delta_commits)
        return not_now(f"{_name(pending)} is pending, and before this instant there are {reason}")
    return ServiceDecision(
        instant_time=instant_time,
        reason=f"{_enough(len(included))}, completed before the pending {_name(pending)}",
    )


def _name(instant: Instant) -> str:
    return f"{instant.action.value} {instant.requested_time}"


def _too_few(count: int, needed: int) -> str:
    return f"{_enough(count)}; compaction begins with {needed}"


def _enough(count: int) -> str:
    return f"{counted(count, 'delta commit')} since the last compaction"
