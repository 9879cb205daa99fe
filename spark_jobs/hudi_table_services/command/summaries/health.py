"""Summary of a health report: its status, the measures above their limits, and the pending instants."""

from collections.abc import Mapping, Sequence

from hudi_table_services.command.summaries.details import Details
from hudi_table_services.command.summary import Grid, Tone
from hudi_table_services.contract.health import HealthReport, PendingInstant
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted, human_bytes, human_time

_TONES = {"healthy": Tone.GOOD, "warning": Tone.WARNING}


def details(report: HealthReport, result: JobResult) -> Details:
    """Return the details of a health report."""
    findings = [
        (each.level, f"{each.title} ({each.measure})", f"{each.value:g}", f"{each.limit:g}", each.advice)
        for each in report.findings
    ]
    return Details(
        verdict=report.status,
        tone=_TONES.get(report.status, Tone.BAD),
        sentences=[each.advice for each in report.findings],
        facts=_facts(report, result),
        grids=(
            Grid(
                columns=("level", "finding", ">value", ">limit", "what to do"), rows=findings, noun="finding"
            ),
            pending_grid(report.pending),
        ),
    )


def _facts(report: HealthReport, result: JobResult) -> Sequence[tuple[str, str]]:
    files, measures = result.files_after, report.measures
    live = f"{counted(files.file_count, 'file', ',')}, {human_bytes(files.size_bytes)}"
    return (
        ("Damaged", report.damage),
        ("Live files", f"{live}, in {counted(report.partition_count, 'partition', ',')}"),
        ("Small files", _small_files(report)),
        ("Outdated files", _outdated(measures)),
        ("Retention", report.retention),
        ("Last commit", report.last_commit),
        ("Clustering", _since(report.last_clustering, measures.get("commits_since_clustering"))),
        ("Clean", _since(report.last_clean, measures.get("commits_since_clean"))),
        ("Savepoints", ", ".join(report.savepoints)),
        ("Metadata table", ", ".join(report.metadata_table)),
    )


def _number(measures: Mapping[str, float], name: str) -> str:
    return f"{measures[name]:,g}" if name in measures else ""


def _small_files(report: HealthReport) -> str:
    """Return the number of small files, and the condition under which a file counts as small."""
    count, limit = _number(report.measures, "small_files"), report.small_file_limit_bytes
    if not count or not limit:
        return count
    return f"{count} (below {human_bytes(limit)}, in partitions with more than one such file)"


def _outdated(measures: Mapping[str, float]) -> str:
    count, size = _number(measures, "outdated_files"), measures.get("outdated_bytes")
    return count if size is None else f"{count}, {human_bytes(size)}"


def _since(last: str, commits: float | None) -> str:
    if not last:
        without = "" if commits is None else f"; {counted(commits, 'commit', 'g')} without one"
        return f"none on the active timeline{without}"
    return last if commits is None else f"{last}; {counted(commits, 'commit', 'g')} since then"


def pending_grid(pending: Sequence[PendingInstant]) -> Grid:
    """Return the pending instants, each with the next step."""
    rows = [
        (
            each.instant_time,
            each.operation.lower() or each.action,
            each.state + (", dead" if each.is_dead else ""),
            human_time(each.age_s),
            each.next_step,
        )
        for each in pending
    ]
    columns = ("instant", "operation", "state", ">age", "next step")
    return Grid(columns=columns, rows=rows, noun="instant", title="Pending", whole=("instant",))
