"""Checks of a delta commit, which writes log files.

In table version 6, readers find the slice of a log file by the time in its name, and they stop at a block whose instant
is later than those that they know. So two delta commits must not write log files of one file group at the same time,
and a compaction that is scheduled during a delta commit makes the names of its log files wrong. From version 8 on,
readers order log files by the times of delta commits, so neither is a problem.
"""

from collections.abc import Collection
from dataclasses import dataclass

from hudi_table_services.commits.table_now import TableNow
from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.compaction.open_writes import open_writes
from hudi_table_services.storage.locks.heartbeat import read_heartbeat_owner
from hudi_table_services.storage.pending_plans import running_writes, workload_profiles
from hudi_table_services.tables.table import TableAccess

_RUN_AGAIN = "Nothing was committed; run the request again."
_WAIT = f"{_RUN_AGAIN} Wait until the other write has ended, or roll it back if its writer is dead."


@dataclass(frozen=True, slots=True)
class LogNamesStillValid:
    """No compaction was scheduled for a file group after this write chose the names of its log files (version 6)."""

    logged: frozenset[FileGroupId]

    def refuse(self, now: TableNow) -> None:
        """Raises FileGroupConflictError."""
        known = {instant.identity for instant in now.planned_with.timeline}
        for change in now.changes:
            is_new = change.compacts and change.instant.identity not in known
            shared = sorted(change.file_groups & self.logged)
            if is_new and change.instant.action.comparable is Action.COMMIT and shared:
                raise FileGroupConflictError(
                    f"Another job scheduled compaction {change.instant.requested_time} of the file group {shared[0]}, "
                    "to which this write adds a log file. The name of the log file must contain the time of the "
                    "compaction.",
                    hint=_RUN_AGAIN,
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
        # A writer of this project calls this function before it writes a log file. Its heartbeat contains a request id.
        is_ours = time not in _inflight_times(timeline) and read_heartbeat_owner(table.storage, time)
        if wanted and time != own_time and not is_ours:
            raise FileGroupConflictError(
                f"The pending deltacommit {time} names no file groups, so it may change those of this write.",
                hint=_WAIT,
            )


def _inflight_times(timeline: Timeline) -> frozenset[str]:
    return frozenset(i.requested_time for i in timeline.pending if i.state is InstantState.INFLIGHT)


def logged_file_groups(metadata: CommitMetadata) -> frozenset[FileGroupId]:
    """File groups to which a commit adds a log file."""
    return frozenset(
        FileGroupId(stat.partition_path, stat.file_id) for stat in metadata.write_stats if stat.is_log_file
    )
