"""Input and results of the planner of compactions. Times are instant times."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timezone, tzinfo

from hudi_table_services.model.compaction.slice_logs import ReadAmplification, SliceLogs
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionDue:
    """Whether a compaction is due.

    Attributes:
        reason: one sentence with the counted delta commits, the elapsed time and the limits of the options.
        delta_commits: number of completed delta commits whose log files no compaction has merged.
        not_counted: number of log compactions in the same period; `delta_commits` does not contain them.
        since: the last compaction, from which the delta commits are counted; None if the active timeline has none.
        elapsed_seconds: seconds since `since`, or since the first delta commit; None without a delta commit.
    """

    is_due: bool
    reason: str
    delta_commits: int
    not_counted: int = 0
    since: Instant | None = None
    elapsed_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionInput:
    """Input of the planner in addition to the snapshot.

    Attributes:
        instant_time: requested time of the compaction to plan. The ages of log files are measured at this time. The
            time must be later than the completion of each delta commit in the snapshot, because readers add log files
            of later delta commits to the slice that the compaction creates.
        zone: time zone of the timeline.
        open_file_groups: maps file groups to the requested time of a pending delta commit that may write log files to
            them. Used for table version 6 only.
        unknown_delta_commits: requested times of pending delta commits whose file groups are not known, for example
            because a delta commit is requested, but not yet inflight. Used for table version 6 only.
        bytes_per_second: bytes that a task of earlier compactions read and wrote per second; None if not known.
    """

    instant_time: str
    zone: tzinfo = timezone.utc
    open_file_groups: Mapping[FileGroupId, str] = field(default_factory=dict)
    unknown_delta_commits: tuple[str, ...] = ()
    bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True, order=True)
class SkippedSlice:
    """A slice that has log files, but is not in the plan.

    Attributes:
        waits: whether a later plan with the same options may contain the slice.
    """

    file_group_id: FileGroupId
    reason: str
    waits: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionProposal:
    """Result of the planner.

    Attributes:
        before: the log files of all slices before the plan is executed.
        operations: the slices to compact, in the order of the plan.
        skipped: all other slices with log files, by partition path, then by file id.
        partitions_considered: number of partitions that passed the filters.
        partitions_total: number of all partitions with files.
        reason: why there are no operations; empty if there are operations.
        bytes_per_second: assumed speed of a task.
        is_measured: whether earlier compactions show this speed; if not, the default of the options is assumed.
    """

    before: ReadAmplification
    operations: tuple[SliceLogs, ...] = ()
    skipped: tuple[SkippedSlice, ...] = ()
    partitions_considered: int = 0
    partitions_total: int = 0
    reason: str = ""
    bytes_per_second: float
    is_measured: bool = False

    @property
    def expected_task_seconds(self) -> float:
        """Return the expected duration of all tasks of the plan together, in seconds."""
        return sum(o.rewrite_bytes for o in self.operations) / self.bytes_per_second

    @property
    def after(self) -> ReadAmplification:
        """Return the log files that remain after the execution, on the assumption that base files keep their size."""
        left = {_place(skipped.file_group_id) for skipped in self.skipped}
        slices = self.before.slices if left else ()
        return replace(
            self.before, slices=tuple(s for s in slices if _place(s.file_slice.file_group_id) in left)
        )

    @property
    def waiting_partitions(self) -> tuple[str, ...]:
        """Return the partitions with slices that wait for a later plan, sorted by path."""
        return tuple(sorted({s.file_group_id.partition_path for s in self.skipped if s.waits}))


def _place(group: FileGroupId) -> tuple[str, str]:
    """Return a key of a file group whose hash takes less time than the hash of the dataclass."""
    return group.partition_path, group.file_id
