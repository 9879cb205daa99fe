"""The health report as lines of text, for logs and terminals."""

from collections.abc import Iterator

from hudi_table_services.contract.health import MEASURES, HealthReport, PendingInstant
from hudi_table_services.contract.result import FileStats
from hudi_table_services.contract.text import NOT_PARTITIONED, counted, human_time

_BAR_CELLS = 30


def health_lines(report: HealthReport, files: FileStats) -> list[str]:
    """Return the verdict, then the facts that explain the verdict."""
    return [
        *_verdict(report),
        *_pending(report),
        *_files(report, files),
        *_metadata_table(report),
        *_measures(report),
    ]


def _verdict(report: HealthReport) -> Iterator[str]:
    kind = report.table_type.replace("_", " ").lower()
    yield f"{report.status.upper()}: {kind} table of version {report.table_version}"
    if report.damage:
        yield f"  Damaged: {report.damage}"
    for each in report.findings:
        yield f"  {each.level}: {each.statement}. {each.advice}"


def _pending(report: HealthReport) -> Iterator[str]:
    yield f"Pending instants: {len(report.pending) or 'none'}"
    for each in report.pending:
        yield from pending_lines(each)


def pending_lines(instant: PendingInstant) -> Iterator[str]:
    """Yield the meaning of a pending instant, the blocked actions, the next step and the action to avoid."""
    title = f"{instant.action} {instant.state}" + (f", {instant.operation}" if instant.operation else "")
    beat = "" if instant.heartbeat == "none" else f", heartbeat {instant.heartbeat}"
    yield f"  {instant.instant_time} {title}, {human_time(instant.age_s)} old{beat}: {instant.meaning}."
    for each in instant.blocks:
        yield f"    blocks {each}"
    yield f"    next: {instant.next_step}."
    if instant.avoid:
        yield f"    avoid: {instant.avoid}."


def _files(report: HealthReport, files: FileStats) -> Iterator[str]:
    yield f"Live files: {files.file_count} in {counted(report.partition_count, 'partition')}"
    most = max(files.histogram.values(), default=0)
    for name, count in files.histogram.items():
        yield f"  {name:>17} {'█' * max(1, round(_BAR_CELLS * count / most))} {count}"
    for each in report.partitions:
        path = each.partition_path or NOT_PARTITIONED
        yield f"  {path}: small files: {each.small_file_count} of {each.file_count}"
    for example in report.missing_examples:
        yield f"  missing: {example}"
    for path in report.foreign_examples:
        yield f"  foreign: {path}"
    for path in report.leftover_examples:
        yield f"  leftover: {path}"


def _metadata_table(report: HealthReport) -> Iterator[str]:
    state = report.metadata_table_state
    yield f"Metadata table: {', '.join(report.metadata_table) or 'none'}"
    facts = {
        "being built": ", ".join(state.being_built),
        "cannot be used": state.unusable,
        "problem": f"{state.problem} {state.path}".strip(),
        "jobs refuse changes": state.refusal,
        "pending": ", ".join(state.pending),
        "missing instants": ", ".join(state.missing_instants),
        "instants that the table does not have": ", ".join(state.unexplained_instants),
        "not compared": state.not_compared,
    }
    yield from (f"  {label}: {text}" for label, text in facts.items() if text)
    yield from (f"  difference: {each}" for each in state.difference_examples)
    yield from (f"  wrong statistics: {each}" for each in state.wrong_statistics_examples)
    if report.metadata_table and not state.unusable:
        yield f"  last compaction: {state.last_compaction or 'none on its active timeline'}"


def _measures(report: HealthReport) -> Iterator[str]:
    if report.retention:
        yield f"Retention: {report.retention}"
    if report.archival:
        yield f"Archival: {report.archival}"
    for label, time in (
        ("commit", report.last_commit),
        ("clean", report.last_clean),
        ("clustering", report.last_clustering),
    ):
        yield f"Last {label}: {time or 'none on the active timeline'}"
    if report.savepoints:
        yield f"Savepoints: {', '.join(report.savepoints)}"
    yield "Measures above 0:" if any(report.measures.values()) else "Measures: all are 0"
    for name, value in report.measures.items():
        if value:
            yield f"  {name} = {value:g}: {MEASURES[name]}"
