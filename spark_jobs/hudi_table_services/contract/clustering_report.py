"""What the clustering jobs tell of plans: part of the result document."""

from dataclasses import dataclass
from typing import Any


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
class ClusteringReport:
    """What a clustering job did.

    Attributes:
        plans: oldest first.
        skipped: what was left out of the plan, by partition, with the reason.
        commits: how many commits there are since the last clustering, in words.
        commit_count: the same as a number.
    """

    plans: tuple[ClusteringPlanReport, ...] = ()
    skipped: tuple[str, ...] = ()
    commits: str = ""
    commit_count: int = 0

    @property
    def instants(self) -> tuple[str, ...]:
        """Requested times of what the job is about, without plans that an execution cancelled."""
        return tuple(plan.instant_time for plan in self.plans if plan.instant_time and not plan.reason)


def report_from_document(values: dict[str, Any]) -> ClusteringReport:
    """From the parsed document; raises KeyError, TypeError or ValueError for anything else."""
    plans = [dict(plan) for plan in values["plans"]]
    for plan in plans:
        plan["groups"] = tuple(ClusteringGroupReport(**group) for group in plan["groups"])
        plan["skipping"] = tuple(ColumnSkipping(**column) for column in plan["skipping"])
    return ClusteringReport(
        plans=tuple(ClusteringPlanReport(**plan) for plan in plans),
        skipped=tuple(values["skipped"]),
        commits=values["commits"],
        commit_count=values["commit_count"],
    )
