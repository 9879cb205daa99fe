"""Requests and report of the clustering jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_table_services.contract.report import Figures, Report, Section
from hudi_table_services.contract.request import JobRequest, check_instants, refuse_text_for_columns
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

CLUSTERING = "clustering"
"""Name of the service."""

LAYOUTS = ("linear", "zorder", "hilbert")
WHEN_HELD = ("fail", "wait")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleClusteringRequest(JobRequest):
    """Plan a clustering and put it on the timeline.

    Attributes:
        sort_columns: ``hoodie.clustering.plan.strategy.sort.columns``; empty: that of the options, else none.
        layout: one of `LAYOUTS`, ``hoodie.layout.optimize.strategy``; empty: that of the options, else linear.
        partitions: ``hoodie.clustering.plan.strategy.partition.selected``.
        every_n_commits: plan only after as many commits since the last clustering; 0: no such gate.
            ``hoodie.clustering.async.max.commits`` with ``hoodie.clustering.async.enabled``.
        preview: plan, report and write nothing.

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
    """Carry out pending clusterings.

    Attributes:
        instants: requested times of the plans; empty: all that are pending, oldest first.
        when_held: one of `WHEN_HELD`: what to do while another execution of a plan is alive.

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
    """Plan a clustering and carry it out.

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
    """Take pending clusterings off the timeline, with what they wrote.

    Attributes:
        instants: requested times of the plans.
        older_than_minutes: without instants: plans of at least this age, 0 for all; None: no others.
        preview: report which plans would be cancelled, and cancel none.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = CLUSTERING

    instants: tuple[str, ...] = ()
    older_than_minutes: int | None = None
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        check_instants(self.instants)
        if self.older_than_minutes is not None and self.older_than_minutes < 0:
            raise InvalidRequestError(f"older_than_minutes is {self.older_than_minutes}, below 0.")
        if self.instants and self.older_than_minutes is not None:
            raise InvalidRequestError(
                "instants and older_than_minutes exclude each other.", hint="Give one of them."
            )

    @property
    def work(self) -> str:
        return "cancel_clustering"


def _check_plan_fields(request: ScheduleClusteringRequest) -> None:
    refuse_text_for_columns(sort_columns=request.sort_columns, partitions=request.partitions)
    if request.layout:
        _check_word("layout", request.layout, LAYOUTS)
    if request.every_n_commits < 0:
        raise InvalidRequestError(f"every_n_commits is {request.every_n_commits}, below 0.")


def _check_word(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidRequestError(f"{name} is {value!r}.", hint=f"Known: {', '.join(allowed)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringGroupReport:
    """File groups of one partition that are, or were, rewritten together.

    Attributes:
        reason: what the group improves, in words.
        expected_files: files that the plan asks for.
        output_files, output_bytes, rows: what became of it; None before it was executed.
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
    """How much of the rewritten rows a reader that looks for one value of a column has to read.

    Attributes:
        before, after: share between 0 and 1, by the ranges in the footers' row groups.
    """

    column: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringPlanReport:
    """One plan.

    Attributes:
        instant_time: its requested time; empty in a preview.
        state: ``previewed``, ``requested``, ``completed``, ``reused`` (completed before), ``cancelled``, ``failed``.
        layout: order of the rows, e.g. ``ZORDER(a, b)``; empty: as they are read.
        groups_given_up: file groups of the plan whose files another writer changed first; they stayed as they were.
        rows_checked: rows whose number and keys were compared before the commit.
        error: why it failed; empty otherwise.
        reason: why its execution cancelled it; empty otherwise.
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
    """What a clustering job did.

    Attributes:
        plans: oldest first.
        skipped: what was left out of the plan, by partition, with the reason.
        commits: how many commits there are since the last clustering, in words.
        commit_count: the same as a number.
    """

    service: ClassVar[str] = CLUSTERING

    plans: tuple[ClusteringPlanReport, ...] = ()
    skipped: tuple[str, ...] = ()
    commits: str = ""
    commit_count: int = 0

    @property
    def instants(self) -> tuple[str, ...]:
        """Requested times of what the job is about, without plans that an execution cancelled."""
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
