"""Check that a compaction leaves no log file behind, because readers would no longer see the rows of the log file.

A log file is left behind if it belongs to a slice that the compaction replaces, and the compaction did not merge it. In
table version 6, the name of the log file determines the slice to which it belongs. From version 8 on, the completion
time of its delta commit determines the slice.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from hudi_table_services.commits.table_now import TableNow
from hudi_table_services.errors import FileGroupConflictError, MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.model.concurrent_change import ChangeKind
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata, WriteStat
from hudi_table_services.planning.compaction.open_writes import open_writes
from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.table import TableAccess

_RUN_AGAIN = "Nothing was committed; run the job again: the next execution merges the log file."


@dataclass(frozen=True, slots=True)
class NoLogLeftBehind:
    """No other writer added a log file to a slice of the plan during the execution, and none can still add one.

    Attributes:
        plan: the compaction.
        file_groups: file groups that the compaction merges.
    """

    plan: Instant
    file_groups: frozenset[FileGroupId]

    def refuse(self, now: TableNow) -> None:
        """Raises FileGroupConflictError."""
        store = now.table.timeline_store
        for change in now.changes:
            if change.kind is not ChangeKind.COMPLETED or self.file_groups.isdisjoint(change.file_groups):
                continue
            for stat in store.commit_metadata(change.instant).write_stats:
                if self._is_left_behind(now, change.instant, stat):
                    raise FileGroupConflictError(
                        f"The {change.instant.action.value} {change.instant.requested_time} added {stat.path} to a "
                        f"file slice of compaction {self.plan.requested_time} during the execution.",
                        hint=_RUN_AGAIN,
                    )
        refuse_older_writes(now.table, now.timeline, self.plan, self.file_groups)

    def _is_left_behind(self, now: TableNow, writer: Instant, stat: WriteStat) -> bool:
        if not stat.is_log_file or FileGroupId(stat.partition_path, stat.file_id) not in self.file_groups:
            return False
        if now.table.config.table_version.has_own_log_instants:
            return writer.visible_from < self.plan.requested_time
        return LogFile.from_file_name(file_name(stat.path)).instant_time < self.plan.requested_time


def refuse_older_writes(
    table: TableAccess, timeline: Timeline, plan: Instant, file_groups: Collection[FileGroupId]
) -> None:
    """Refuse to execute a compaction of table version 6 while older delta commits may add log files to its slices.

    A delta commit that began after the plan was written names its log files after the plan. All writers create the
    requested file before they read the pending plans (SparkRDDWriteClient, Hudi 0.15). So a delta commit is older if
    its requested time is earlier than that of the plan, or if its requested file is not newer than that of the plan.

    Raises:
        FileGroupConflictError: such a delta commit is pending.
    """
    if table.config.table_version.has_own_log_instants:
        return
    store = table.timeline_store
    for write in timeline.pending:
        if write.action is not Action.DELTA_COMMIT or not _is_older(store, write, plan):
            continue
        profiles = _profiles(store, write)
        found = open_writes(Timeline((write,)), profiles)
        is_open = bool(found.unknown_delta_commits) or not found.open_file_groups.keys().isdisjoint(
            file_groups
        )
        # With some indexes, Hudi adds inserts to log files of file groups that the profile does not list.
        inserted = {s.partition_path for p in profiles.values() for s in p.write_stats if s.num_inserts}
        if is_open or inserted & {group.partition_path for group in file_groups}:
            raise FileGroupConflictError(
                f"The pending delta commit {write.requested_time} began before compaction {plan.requested_time} was "
                "scheduled, and may write log files for a file slice of the compaction. The rows of these log files "
                "would be lost.",
                hint="Run the job again after the write has ended. If its writer is dead, roll the write back with "
                "rollback.py --all-failed.",
            )


def _is_older(store: TimelineStore, write: Instant, plan: Instant) -> bool:
    if write.requested_time < plan.requested_time:
        return True
    try:
        return _requested_ms(store, write) <= _requested_ms(store, plan)
    except ObjectNotFoundError:
        return True  # the write has just ended, so it may have added log files


def _requested_ms(store: TimelineStore, instant: Instant) -> int:
    return store.modified_ms(replace(instant, state=InstantState.REQUESTED))


def _profiles(store: TimelineStore, write: Instant) -> dict[str, CommitMetadata]:
    """Workload profile of a delta commit; empty if it is not inflight, or if its profile cannot be read."""
    if write.state is not InstantState.INFLIGHT:
        return {}
    try:
        return {write.requested_time: store.commit_metadata(write)}
    except (ObjectNotFoundError, MalformedMetadataError):
        return {}
