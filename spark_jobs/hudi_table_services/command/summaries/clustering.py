"""Summary of a clustering. The groups with the largest benefit come first."""

from collections.abc import Sequence

from hudi_table_services.command.summaries.details import Details, shown_path
from hudi_table_services.command.summary import Grid
from hudi_table_services.contract.clustering import ClusteringGroupReport, ClusteringReport
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted, human_bytes


def details(report: ClusteringReport, result: JobResult) -> Details:
    """Return the details of a preview, a plan, an execution or a cancellation."""
    groups = by_benefit([group for plan in report.plans for group in plan.groups])
    return Details(facts=_facts(report, groups), grids=(_grid(groups),))


def by_benefit(groups: Sequence[ClusteringGroupReport]) -> list[ClusteringGroupReport]:
    """Sort groups by the number of files that the clustering saves, then by size, largest first."""
    return sorted(groups, key=lambda each: (each.expected_files - each.input_files, -each.input_bytes))


def _facts(report: ClusteringReport, groups: Sequence[ClusteringGroupReport]) -> Sequence[tuple[str, str]]:
    files, size = sum(each.input_files for each in groups), sum(each.input_bytes for each in groups)
    after = sum(each.expected_files if each.output_files is None else each.output_files for each in groups)
    plans = [
        f"{each.instant_time} {each.state}{f': {each.error or each.reason}' if each.error or each.reason else ''}"
        for each in report.plans
        if each.instant_time
    ]
    return (
        ("Plans" if len(plans) > 1 else "Plan", "; ".join(plans)),
        ("Rows", " and ".join(sorted({f"ordered by {each.layout}" for each in report.plans if each.layout}))),
        (
            "Files",
            f"{files:,} → {after:,}, {human_bytes(size)} in {counted(len(groups), 'group', ',')}"
            if groups
            else "",
        ),
        ("Commits", report.commits),
        ("Left out", counted(report.skipped_slices, "file slice", ",") if report.skipped else ""),
    )


def _grid(groups: Sequence[ClusteringGroupReport]) -> Grid:
    is_executed = any(each.output_files is not None for each in groups)
    return Grid(
        columns=(
            "partition",
            ">files",
            ">size",
            ">files after",
            *([">size after"] if is_executed else ["reason"]),
        ),
        rows=[_row(each, is_executed=is_executed) for each in groups],
        noun="group",
    )


def _row(group: ClusteringGroupReport, *, is_executed: bool) -> Sequence[str]:
    before = (shown_path(group.partition_path), f"{group.input_files:,}", human_bytes(group.input_bytes))
    if not is_executed:
        return (*before, f"{group.expected_files:,}", group.reason)
    if group.output_files is None:
        return (*before, "", "")
    return (*before, f"{group.output_files:,}", human_bytes(group.output_bytes or 0))
