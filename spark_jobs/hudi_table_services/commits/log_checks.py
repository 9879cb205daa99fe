"""Checks of a delta commit, which writes log files.

In table version 6, readers find the slice of a log file by the time in the name of the log file. When they read the log
files of a slice, they stop at the first block whose instant is later than the newest instant that they know. So two
delta commits must not write log files of one file group at the same time. And if a compaction is scheduled or removed
during a delta commit, the names of the delta commit's log files become wrong. From version 8 on, readers order log
files by the times of delta commits, so neither case causes a problem.
"""

from collections.abc import Collection
from dataclasses import dataclass

from hudi_table_services.commits.table_now import TableNow
from hudi_table_services.errors import CommitConflictError, FileGroupConflictError
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.compaction.open_writes import open_writes
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.locks.heartbeat import read_heartbeat_owner
from hudi_table_services.storage.pending_plans import planned_file_groups, running_writes, workload_profiles
from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.tables.table import TableAccess

_RUN_AGAIN = "Nothing was committed; run the request again."
_WAIT = f"{_RUN_AGAIN} Wait until the other write has ended, or roll it back if its writer is dead."


@dataclass(frozen=True, slots=True)
class NamedLog:
    """A log file of a write.

    Attributes:
        named_after: instant in the name of the log file.
    """

    file_group: FileGroupId
    named_after: str


@dataclass(frozen=True, slots=True)
class LogNamesStillValid:
    """The names of the log files of this write still contain the instants of the newest file slices (version 6).

    After the write chose the names, no compaction of one of the file groups was scheduled, and no compaction whose time
    is part of a name was removed from the timeline. Otherwise, readers would not find the slice of the log file.
    """

    logs: frozenset[NamedLog]

    def refuse(self, now: TableNow) -> None:
        """Raises FileGroupConflictError."""
        self._refuse_new_plans(now)
        visibility = Visibility.of(now.timeline, has_own_log_instants=False)
        planned = {
            i.requested_time for i in now.planned_with.timeline.pending if i.action is Action.COMPACTION
        }
        for log in sorted(self.logs, key=lambda log: (log.named_after, log.file_group)):
            # A compaction that was pending when the write began may be gone. Archival cannot have moved it, because
            # `NothingArchivedSince` was checked.
            is_visible = visibility.sees(log.named_after) and not (
                log.named_after in planned and not now.timeline.find(log.named_after)
            )
            if not is_visible and not _is_planned(now, log):
                raise FileGroupConflictError(
                    f"Another job removed {log.named_after}, after which this write named a log file of the file group "
                    f"{log.file_group}. Readers would not see the rows of the log file.",
                    hint=_RUN_AGAIN,
                )

    def _refuse_new_plans(self, now: TableNow) -> None:
        logged = {log.file_group for log in self.logs}
        known = {instant.identity for instant in now.planned_with.timeline}
        for change in now.changes:
            is_new = change.compacts and change.instant.identity not in known
            shared = sorted(change.file_groups & logged)
            if is_new and change.instant.action.comparable is Action.COMMIT and shared:
                raise FileGroupConflictError(
                    f"Another job scheduled compaction {change.instant.requested_time} of the file group {shared[0]}, "
                    "to which this write adds a log file. The name of the log file must contain the time of the "
                    "compaction.",
                    hint=_RUN_AGAIN,
                )


@dataclass(frozen=True, slots=True)
class NoPendingCompaction:
    """No compaction of these file groups is pending. Such a compaction would make the indexes of keys wrong.

    Attributes:
        file_groups: see `CollectedFacts.depend_on_compactions`.
    """

    file_groups: frozenset[FileGroupId]

    def refuse(self, now: TableNow) -> None:
        """Raises CommitConflictError, because a retry inside the job cannot succeed."""
        if not self.file_groups:
            return
        for instant in now.timeline.pending:
            is_compaction = instant.action is Action.COMPACTION
            planned = planned_file_groups(now.table.timeline_store, instant) if is_compaction else frozenset()
            shared = sorted(planned & self.file_groups)
            if shared:
                raise CommitConflictError(
                    f"This write adds an older version of a row to the file group {shared[0]}. The version now loses "
                    f"against an entry of a log file. When the pending compaction {instant.requested_time} completes, "
                    "it removes this entry, and the version wins. Then the record index and the secondary indexes "
                    "would be wrong.",
                    hint="Nothing was committed. Execute or cancel the compaction, then run the request again.",
                )


def _is_planned(now: TableNow, log: NamedLog) -> bool:
    """Whether a log file belongs to the slice that a pending compaction creates."""
    return any(
        instant.action is Action.COMPACTION
        and instant.requested_time == log.named_after
        and log.file_group in planned_file_groups(now.table.timeline_store, instant)
        for instant in now.timeline.pending
    )


def refuse_open_writes(table: TableAccess, own_time: str, file_groups: Collection[FileGroupId]) -> None:
    """Refuse to write log files of file groups that another pending write changes (version 6).

    Call this function under the table lock, which the caller holds until its own inflight file exists.

    Raises:
        FileGroupConflictError: another inflight write changes one of the file groups, or it is not known which file
            groups a pending delta commit of another program changes.
    """
    wanted, timeline = frozenset(file_groups), table.load_timeline()
    for write in running_writes(table.timeline_store, timeline):
        shared = sorted(write.file_groups & wanted)
        if shared and write.instant.requested_time != own_time:
            raise FileGroupConflictError(
                f"The pending {write.instant.action.value} {write.instant.requested_time} changes the file group "
                f"{shared[0]}, which this write changes too.",
                hint=_WAIT,
            )
    for time in open_writes(
        timeline, workload_profiles(table.timeline_store, timeline)
    ).unknown_delta_commits:
        # A writer of this project calls this function before it writes a log file, so its delta commit does no harm
        # while it is only requested. The heartbeat of such a writer contains a request id.
        is_ours = time not in _inflight_times(timeline) and read_heartbeat_owner(table.storage, time)
        if wanted and time != own_time and not is_ours:
            raise FileGroupConflictError(
                f"The pending deltacommit {time} names no file groups, so it may change those of this write.",
                hint=_WAIT,
            )


def refuse_unknown_writes(table: TableAccess, timeline: Timeline, plan: Instant) -> None:
    """Refuse to execute a clustering while a delta commit is pending that may add log files to any file group.

    There are two such cases. In the first, the delta commit is inflight, and its inflight file names no file groups, as
    Flink writes it. In the second, Hudi requested the delta commit before the plan, and has not started it. A writer of
    Hudi that begins after the plan does no harm: the writer sees the plan, and changes no file group of the plan.

    Raises:
        FileGroupConflictError: there is such a delta commit.
    """
    inflight = _inflight_times(timeline)
    for time in open_writes(
        timeline, workload_profiles(table.timeline_store, timeline)
    ).unknown_delta_commits:
        is_harmless = time not in inflight and (
            time > plan.requested_time or read_heartbeat_owner(table.storage, time)
        )
        if not is_harmless:
            raise FileGroupConflictError(
                f"The pending deltacommit {time} names no file groups, so it may add log files to file groups of "
                f"clustering {plan.requested_time}. The rows of these log files would be lost.",
                hint="Run the job again after the write has ended. If its writer is dead, roll the write back with "
                "rollback.py --all-failed.",
            )


@dataclass(frozen=True, slots=True)
class NoUnknownWrite:
    """See `refuse_unknown_writes`."""

    plan: Instant

    def refuse(self, now: TableNow) -> None:
        """Raises FileGroupConflictError."""
        refuse_unknown_writes(now.table, now.timeline, self.plan)


def _inflight_times(timeline: Timeline) -> frozenset[str]:
    return frozenset(i.requested_time for i in timeline.pending if i.state is InstantState.INFLIGHT)


def named_logs(metadata: CommitMetadata) -> frozenset[NamedLog]:
    """The log files of a commit of table version 6, with the instants in their names."""
    return frozenset(
        NamedLog(
            FileGroupId(stat.partition_path, stat.file_id),
            LogFile.from_file_name(file_name(stat.path)).instant_time,
        )
        for stat in metadata.write_stats
        if stat.is_log_file
    )


def logged_file_groups(metadata: CommitMetadata) -> frozenset[FileGroupId]:
    """File groups to which a commit adds a log file."""
    return frozenset(
        FileGroupId(stat.partition_path, stat.file_id) for stat in metadata.write_stats if stat.is_log_file
    )
