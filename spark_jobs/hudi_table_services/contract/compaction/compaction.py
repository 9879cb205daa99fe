"""Requests and report of the compaction jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_table_services.contract.report import Figures, Report, Section
from hudi_table_services.contract.request import (
    WHEN_HELD,
    JobRequest,
    check_cancellation,
    check_instants,
    refuse_text_for_lists,
)
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

COMPACTION = "compaction"
"""Name of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCompactionRequest(JobRequest):
    """Plan a compaction and write the plan to the timeline.

    Attributes:
        partitions: paths of the partitions to compact; empty means all partitions that the options select.
        every_n_commits: ``hoodie.compact.inline.max.delta.commits``: number of delta commits since the last compaction
            that the trigger requires. 0 means the value in the options, or 5 if the options contain no value.
        ignore_trigger: plan at once, without the conditions of ``hoodie.compact.inline.trigger.strategy``.
        preview: report the plan and write nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = COMPACTION

    partitions: tuple[str, ...] = ()
    every_n_commits: int = 0
    ignore_trigger: bool = False
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        refuse_text_for_lists(partitions=self.partitions)
        if self.every_n_commits < 0:
            raise InvalidRequestError(f"every_n_commits is {self.every_n_commits}, below 0.")

    @property
    def work(self) -> str:
        return "schedule_compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteCompactionRequest(JobRequest):
    """Execute pending compaction plans.

    Attributes:
        instants: requested times of the plans. Empty means all pending plans, oldest first.
        when_held: one of `WHEN_HELD`; what the job does while another job is executing the same plan.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = COMPACTION

    instants: tuple[str, ...] = ()
    when_held: str = "fail"

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        check_instants(self.instants)
        _check_when_held(self.when_held)

    @property
    def work(self) -> str:
        return "execute_compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRequest(ScheduleCompactionRequest):
    """Plan a compaction and execute the plan.

    Attributes:
        when_held: see `ExecuteCompactionRequest`.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    when_held: str = "fail"

    def __post_init__(self) -> None:
        ScheduleCompactionRequest.__post_init__(self)
        _check_when_held(self.when_held)

    @property
    def work(self) -> str:
        return "compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelCompactionRequest(JobRequest):
    """Remove pending compaction plans from the timeline, together with the base files written for them.

    Attributes:
        instants: requested times of the plans to cancel, whatever their age. Cannot be combined with
            `older_than_minutes`.
        older_than_minutes: minimum age of the plans to cancel. 0 means all plans that no job is executing. None means
            that the job cancels only `instants`.
        preview: report which plans would be cancelled, and cancel no plan.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = COMPACTION

    instants: tuple[str, ...] = ()
    older_than_minutes: int | None = None
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        check_cancellation(self.instants, self.older_than_minutes)

    @property
    def work(self) -> str:
        return "cancel_compaction"


def _check_when_held(value: str) -> None:
    if value not in WHEN_HELD:
        raise InvalidRequestError(
            f"when_held is {value!r}, which is not a known value.",
            hint=f"Valid values: {', '.join(WHEN_HELD)}.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedPartition:
    """The file slices of one partition that a plan compacts.

    Attributes:
        slices: number of file slices.
        log_files, log_bytes: number and size of their log files.
        base_bytes: size of their base files; None if it is not known.
        output_bytes: size of the new base files. This number and the following numbers are None if the job did not
            execute the plan.
        rows: number of rows in the new base files.
        updated_rows, inserted_rows, deleted_rows: number of rows that the log files changed in the base files, added to
            them, and deleted from them.
        reused_files: number of new base files that an earlier attempt wrote.
    """

    partition_path: str
    slices: int
    log_files: int
    log_bytes: int
    base_bytes: int | None = None
    output_bytes: int | None = None
    rows: int | None = None
    updated_rows: int | None = None
    inserted_rows: int | None = None
    deleted_rows: int | None = None
    reused_files: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlanReport:
    """State and result of one compaction plan.

    Attributes:
        instant_time: requested time of the plan; empty in a preview.
        state: ``previewed``, ``requested``, ``completed``, ``reused`` (an earlier attempt completed the plan),
            ``cancelled`` or ``failed``.
        partitions: the planned file slices by partition, in order of the paths.
        expected_task_seconds: expected duration of all tasks together, in seconds; None after the execution.
        replaced_groups: number of file groups that the execution left out, because a completed write replaced them.
        error: why the plan failed; empty if the plan did not fail.
    """

    instant_time: str
    state: str
    completion_time: str | None = None
    partitions: tuple[CompactedPartition, ...] = ()
    expected_task_seconds: float | None = None
    replaced_groups: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmergedLogs:
    """Log files that a snapshot query reads in addition to base files.

    Attributes:
        slices: number of file slices with log files.
        slices_total: number of all file slices.
        base_bytes: size of the base files of all file slices.
        oldest_log: requested time of the delta commit that wrote the oldest log file; None without log files. In table
            version 6, it is the earliest possible time.
    """

    slices: int
    slices_total: int
    log_files: int
    log_bytes: int
    base_bytes: int
    oldest_log: str | None = None

    @property
    def log_ratio(self) -> float | None:
        """Return the bytes of log files per byte of the base files; None without base files."""
        return self.log_bytes / self.base_bytes if self.base_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport(Report):
    """Result of a compaction job.

    Attributes:
        plans: state and result of each plan, oldest plan first.
        skipped: the file slices with log files that the plan does not contain, with the reason of each. A long list
            ends with a line about the rest.
        skipped_count: number of these file slices.
        trigger: the delta commits and the time since the last compaction, compared with the limits, in words.
        delta_commits: number of delta commits whose log files no compaction has merged; None if not counted.
        before, after: log files before and after the job: of the whole table or, if the job executed plans, of the
            partitions of these plans. If the job only made a plan, `after` contains the log files that will remain
            after the execution of the plan.
    """

    service: ClassVar[str] = COMPACTION

    plans: tuple[CompactionPlanReport, ...] = ()
    skipped: tuple[str, ...] = ()
    skipped_count: int = 0
    trigger: str = ""
    delta_commits: int | None = None
    before: UnmergedLogs | None = None
    after: UnmergedLogs | None = None

    @property
    def instants(self) -> tuple[str, ...]:
        """Return the requested times of the plans."""
        return tuple(plan.instant_time for plan in self.plans if plan.instant_time)

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "CompactionReport":
        plans = [dict(plan) for plan in values["plans"]]
        for plan in plans:
            plan["partitions"] = tuple(CompactedPartition(**each) for each in plan["partitions"])
        before, after = values["before"], values["after"]
        return cls(
            plans=tuple(CompactionPlanReport(**plan) for plan in plans),
            skipped=tuple(values["skipped"]),
            skipped_count=values.get("skipped_count", len(values["skipped"])),
            trigger=values["trigger"],
            delta_commits=values["delta_commits"],
            before=None if before is None else UnmergedLogs(**before),
            after=None if after is None else UnmergedLogs(**after),
        )

    def figures(self) -> Figures:
        completed = [plan for plan in self.plans if plan.state == "completed"]
        parts = [partition for plan in completed for partition in plan.partitions]
        return Figures(
            rows=sum(part.rows or 0 for part in parts),
            files_written=sum(part.slices for part in parts),
            bytes_written=sum(part.output_bytes or 0 for part in parts),
        )

    def summary(self, result: "JobResult") -> str:
        from hudi_table_services.contract.compaction.compaction_text import compaction_summary

        return compaction_summary(self, result)

    def sections(self, result: "JobResult") -> list[Section]:
        from hudi_table_services.contract.compaction.compaction_text import compaction_sections

        return compaction_sections(self, result)
