"""Requests and report of the clustering jobs."""

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
from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

CLUSTERING = "clustering"
"""Name of the service."""

LAYOUTS = ("linear", "zorder", "hilbert")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleClusteringRequest(JobRequest):
    """Schedule a clustering: write its plan to the timeline.

    Attributes:
        sort_columns: ``hoodie.clustering.plan.strategy.sort.columns``. Empty means the value in the options, or no
            sorting if the options contain no value.
        layout: one of `LAYOUTS`, ``hoodie.layout.optimize.strategy``. Empty means the value in the options, or linear
            if the options contain no value.
        partitions: ``hoodie.clustering.plan.strategy.partition.selected``.
        every_n_commits: minimum number of commits since the last completed or pending clustering; 0 means no minimum.
            The field sets ``hoodie.clustering.async.max.commits`` and switches ``hoodie.clustering.async.enabled`` on.
        preview: report the plan and write nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = CLUSTERING

    sort_columns: tuple[str, ...] = ()
    layout: str = ""
    partitions: tuple[str, ...] = ()
    every_n_commits: int = 0
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        _check_plan_fields(self)

    @property
    def work(self) -> str:
        return "schedule_clustering"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteClusteringRequest(JobRequest):
    """Execute pending clustering plans.

    Attributes:
        instants: requested times of the plans. Empty means all pending plans, oldest first.
        when_held: one of `WHEN_HELD`; what the job does while another job is executing the same plan.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = CLUSTERING

    instants: tuple[str, ...] = ()
    when_held: str = "fail"

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        check_instants(self.instants)
        _check_word("when_held", self.when_held, WHEN_HELD)

    @property
    def work(self) -> str:
        return "execute_clustering"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringRequest(ScheduleClusteringRequest):
    """Schedule a clustering and execute its plan.

    Attributes:
        when_held: see `ExecuteClusteringRequest`.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    when_held: str = "fail"

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        _check_plan_fields(self)
        _check_word("when_held", self.when_held, WHEN_HELD)

    @property
    def work(self) -> str:
        return "clustering"


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelClusteringRequest(JobRequest):
    """Remove pending clustering plans from the timeline, together with the files written for them.

    Attributes:
        instants: requested times of the plans to cancel, whatever their age. Cannot be combined with
            `older_than_minutes`.
        older_than_minutes: minimum age of the plans to cancel. 0 means all plans that no job is executing. None means
            that the job cancels only `instants`.
        preview: report which plans would be cancelled, and cancel no plan.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = CLUSTERING

    instants: tuple[str, ...] = ()
    older_than_minutes: int | None = None
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        check_cancellation(self.instants, self.older_than_minutes)

    @property
    def work(self) -> str:
        return "cancel_clustering"


def _check_plan_fields(request: ScheduleClusteringRequest) -> None:
    refuse_text_for_lists(sort_columns=request.sort_columns, partitions=request.partitions)
    if request.layout:
        _check_word("layout", request.layout, LAYOUTS)
    if request.every_n_commits < 0:
        raise InvalidRequestError(f"every_n_commits is {request.every_n_commits}, below 0.")


def _check_word(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidRequestError(
            f"{name} is {value!r}, which is not a known value.",
            hint=f"{did_you_mean(value, allowed)} Valid values: {', '.join(allowed)}.".strip(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringGroupReport:
    """File groups of one partition that a clustering rewrites together.

    Attributes:
        reason: what the clustering of this group improves, in words.
        expected_files: number of files that the plan expects as output.
        output_files, output_bytes, rows: result of the execution; None before the execution.
    """

    partition_path: str
    input_files: int
    input_bytes: int
    expected_files: int
    reason: str = ""
    output_files: int | None = None
    output_bytes: int | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSkipping:
    """Share of the rewritten rows that a query for one value of a column must read.

    Attributes:
        before, after: share before and after the clustering, between 0 and 1. Both are calculated from the value
            ranges of the row groups.
    """

    column: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringPlanReport:
    """State and result of one clustering plan.

    Attributes:
        instant_time: requested time of the plan; empty in a preview.
        state: ``previewed``, ``requested``, ``completed``, ``reused`` (an earlier attempt completed the plan),
            ``cancelled`` or ``failed``.
        layout: order of the rows, e.g. ``ZORDER(a, b)``; empty if the rows keep the order of the input.
        groups_given_up: number of groups that the commit left out, because another writer changed their files first.
        rows_checked: number of rows that were read. Before the commit, the job compared this number and a checksum of
            the keys with the written files.
        error: why the plan failed; empty if the plan did not fail.
        reason: why the execution cancelled the plan; empty if the execution did not cancel the plan.
    """

    instant_time: str
    state: str
    layout: str = ""
    target_file_max_bytes: int = 0
    completion_time: str | None = None
    groups: tuple[ClusteringGroupReport, ...] = ()
    groups_given_up: int = 0
    rows_checked: int = 0
    skipping: tuple[ColumnSkipping, ...] = ()
    error: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringReport(Report):
    """Result of a clustering job.

    Attributes:
        plans: state and result of each plan, oldest plan first.
        skipped: the file slices that the plan does not contain, by partition, with the reason. A long list ends with a
            line about the rest.
        skipped_count: number of all entries of this list, with those that only the last line stands for.
        skipped_slices: number of file slices that the plan does not contain.
        commits: number of commits since the last completed or pending clustering, in words.
        commit_count: the same number as an integer. If `commits` contains the words "at least", the table may have more
            such commits in its archive, which the job need not count.
    """

    service: ClassVar[str] = CLUSTERING

    plans: tuple[ClusteringPlanReport, ...] = ()
    skipped: tuple[str, ...] = ()
    skipped_count: int = 0
    skipped_slices: int = 0
    commits: str = ""
    commit_count: int = 0

    @property
    def instants(self) -> tuple[str, ...]:
        """Return the requested times of the plans, without plans that an execution cancelled."""
        return tuple(plan.instant_time for plan in self.plans if plan.instant_time and not plan.reason)

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "ClusteringReport":
        plans = [dict(plan) for plan in values["plans"]]
        for plan in plans:
            plan["groups"] = tuple(ClusteringGroupReport(**group) for group in plan["groups"])
            plan["skipping"] = tuple(ColumnSkipping(**column) for column in plan["skipping"])
        return cls(
            plans=tuple(ClusteringPlanReport(**plan) for plan in plans),
            skipped=tuple(values["skipped"]),
            skipped_count=values.get("skipped_count", len(values["skipped"])),
            skipped_slices=values.get("skipped_slices", len(values["skipped"])),
            commits=values["commits"],
            commit_count=values["commit_count"],
        )

    def figures(self) -> Figures:
        groups = [group for plan in self.plans if plan.state == "completed" for group in plan.groups]
        return Figures(
            rows=sum(group.rows or 0 for group in groups),
            files_written=sum(group.output_files or 0 for group in groups),
            bytes_written=sum(group.output_bytes or 0 for group in groups),
        )

    def summary(self, result: "JobResult") -> str:
        from hudi_table_services.contract.clustering_text import clustering_summary

        return clustering_summary(self, result)

    def sections(self, result: "JobResult") -> list[Section]:
        from hudi_table_services.contract.clustering_text import clustering_sections

        return clustering_sections(self, result)
