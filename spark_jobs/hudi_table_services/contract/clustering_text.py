"""Clustering reports as text, for logs and approvals: the files before and after a clustering."""

from collections.abc import Iterable, Mapping, Sequence

from hudi_table_services.contract.clustering import (
    ClusteringGroupReport,
    ClusteringPlanReport,
    ClusteringReport,
)
from hudi_table_services.contract.report import Section
from hudi_table_services.contract.result import FileStats, JobResult, Outcome
from hudi_table_services.contract.text import NOT_PARTITIONED, bar, counted, human_bytes

SHOWN_GROUPS = 30
SHOWN_SKIPPED = 20


def clustering_sections(report: ClusteringReport, result: JobResult) -> list[Section]:
    """Return titles with their lines: each plan, the file sizes, and the skipped file slices."""
    sections = [(plan_title(plan), plan_lines(plan)) for plan in report.plans]
    if sizes := _size_lines(report, result):
        sections.append(("Sizes of files", sizes))
    if report.skipped:
        more = _more(report.skipped_count - SHOWN_SKIPPED, "more reason")
        sections.append(("Left out", [*report.skipped[:SHOWN_SKIPPED], *more]))
    return sections


def clustering_summary(report: ClusteringReport, result: JobResult) -> str:
    """Return the result in one line."""
    groups = [group for plan in report.plans for group in plan.groups]
    commits = f" ({report.commits})" if report.commits else ""
    files, size = sum(g.input_files for g in groups), human_bytes(sum(g.input_bytes for g in groups))
    what = f"{counted(files, 'file')} of {size} in {counted(len(groups), 'group')}"
    match result.outcome:
        case Outcome.COMPLETED if result.reused:
            return f"{', '.join(report.instants)}: {result.reason}"
        case Outcome.PLANNED:
            return (
                f"Planned, nothing written: {what} would become {counted(_expected(groups), 'file')}{commits}"
            )
        case Outcome.NOTHING_TO_DO:
            # The reason of a clustering that is too early already names the commits.
            since = report.commits.partition(" commit")[2].removeprefix("s").strip()
            return f"Nothing to do: {result.reason}{'' if since and since in result.reason else commits}"
        case Outcome.FAILED:
            return result.failure
    states = sorted({plan.state for plan in report.plans})
    if any(group.output_files is not None for group in groups):
        written = sum(group.output_bytes or 0 for group in groups)
        became = f"became {sum(g.output_files or 0 for g in groups)} of {human_bytes(written)}"
    else:
        became = f"become {_expected(groups)}"
    return f"{' and '.join(states) or 'done'}: {', '.join(report.instants)}: {what} {became}{commits}"


def plan_title(plan: ClusteringPlanReport) -> str:
    """Return the instant, the state, the order of the rows and the file size of a plan."""
    layout = f", rows by {plan.layout}" if plan.layout else ""
    target = f", files of {human_bytes(plan.target_file_max_bytes)}" if plan.target_file_max_bytes else ""
    return f"Clustering {plan.instant_time or 'plan'} ({plan.state}{layout}{target})"


def plan_lines(plan: ClusteringPlanReport) -> list[str]:
    """Return a table of the groups and the result of the execution."""
    return [*_group_lines(plan.groups), *_evidence_lines(plan)]


def _group_lines(groups: Sequence[ClusteringGroupReport]) -> Iterable[str]:
    if not groups:
        return
    shown = groups[:SHOWN_GROUPS]
    width = max(len("partition"), *(len(g.partition_path or NOT_PARTITIONED) for g in shown))
    is_executed = any(group.output_files is not None for group in groups)
    after = "became        bytes" if is_executed else "becomes"
    yield f"{'partition'.ljust(width)}  files       bytes  {after}  reason"
    for group in shown:
        yield (
            f"{(group.partition_path or NOT_PARTITIONED).ljust(width)}  {group.input_files:>5}  "
            f"{human_bytes(group.input_bytes):>10}  {_after(group, is_executed)}  {group.reason}".rstrip()
        )
    if len(groups) > SHOWN_GROUPS:
        yield f"… and {counted(len(groups) - SHOWN_GROUPS, 'more group')}"


def _after(group: ClusteringGroupReport, is_executed: bool) -> str:
    if not is_executed:
        return f"{group.expected_files:>7}"
    if group.output_files is None:
        return f"{'-':>6}  {'-':>11}"
    return f"{group.output_files:>6}  {human_bytes(group.output_bytes or 0):>11}"


def _evidence_lines(plan: ClusteringPlanReport) -> Iterable[str]:
    files = sum(group.output_files or 0 for group in plan.groups)
    written = sum(group.output_bytes or 0 for group in plan.groups)
    if files and plan.target_file_max_bytes:
        average = written / files
        yield (
            f"New files have {human_bytes(average)} on average, {average / plan.target_file_max_bytes:.0%} of the "
            f"target of {human_bytes(plan.target_file_max_bytes)}"
        )
    if plan.rows_checked:
        yield f"{counted(plan.rows_checked, 'row', ',')} checked: their number and keys are the same as before"
    for column in plan.skipping:
        before, after = _share(column.before), _share(column.after)
        yield (
            f"A query for one {column.column} reads {after} of the rewritten rows; "
            f"before the clustering, it read {before}"
        )
    if plan.groups_given_up:
        yield f"{counted(plan.groups_given_up, 'group')} dropped, because other writers changed the files first"
    if plan.reason:
        yield f"{plan.reason[0].upper()}{plan.reason[1:]}"
    if plan.error:
        yield f"Failed: {plan.error}"


def _size_lines(report: ClusteringReport, result: JobResult) -> list[str]:
    """Return two histograms of file sizes: now and expected, or, after an execution, before and after the execution."""
    if not result.files_before.file_count:
        return []
    now, then = ("before", "after") if _is_executed(report) else ("now", "expected")
    return [*_histogram_lines(now, result.files_before), *_histogram_lines(then, result.files_after)]


def _is_executed(report: ClusteringReport) -> bool:
    return any(group.output_files is not None for plan in report.plans for group in plan.groups)


def _histogram_lines(title: str, stats: FileStats) -> Iterable[str]:
    yield f"{title}: {counted(stats.file_count, 'file')}, {human_bytes(stats.size_bytes)}"
    histogram: Mapping[str, int] = stats.histogram
    largest = max(histogram.values(), default=0)
    for name, count in histogram.items():
        yield f"  {name:>17} {bar(count, largest)} {count}"


def _capped(lines: Sequence[str], shown: int, noun: str) -> list[str]:
    return [*lines[:shown], *_more(len(lines) - shown, noun)]


def _more(count: int, noun: str) -> list[str]:
    return [f"… and {counted(count, noun)}"] if count > 0 else []


def _expected(groups: Iterable[ClusteringGroupReport]) -> int:
    return sum(group.expected_files for group in groups)


def _share(value: float) -> str:
    """Return a percentage, with one decimal digit below 10 %."""
    return f"{value:.0%}" if value >= 0.1 else f"{value:.1%}"
