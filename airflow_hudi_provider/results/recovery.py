"""What tasks tell that keep, undo, archive or tidy up: return value, lines in the log, and asset events."""

import json
from dataclasses import asdict
from typing import Any

from airflow_hudi_provider.results.table_picture import human_bytes
from hudi_table_services.contract.archival import ArchiveReport
from hudi_table_services.contract.recovery import OrphanReport, RecoveryReport
from hudi_table_services.contract.result import JobResult, Outcome

TOLD = 50
"""Items of each list that go into an XCom; the log has more, the result document all."""


def recovery_answer(result: JobResult) -> dict[str, Any]:
    """The return value of the task; lists are cut to `TOLD` items, and counted."""
    answer: dict[str, Any] = {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        "table_name": result.table_name,
        "reason": result.reason,
        "reused": result.reused,
        "instant": result.instant_time,
        "warnings": list(result.warnings),
    }
    if result.outcome is Outcome.PLANNED:
        answer["picture"] = _picture(result)
    report = result.recovery or result.orphans or result.archive
    if report is not None:
        values = json.loads(json.dumps(asdict(report)))
        for name, value in values.items():
            answer[name] = value[:TOLD] if isinstance(value, list) else value
            if isinstance(value, list):
                answer[f"{name}_count"] = len(value)
    return answer


def _picture(result: JobResult) -> str:
    """What a person reads before approving."""
    lines = [recovery_summary(result)]
    for title, told in recovery_sections(result):
        if told:
            lines += ["", f"{title}:", *(f"  {line}" for line in told[:TOLD])]
            lines += [f"  … and {len(told) - TOLD} more"] if len(told) > TOLD else []
    return "\n".join(lines)


def recovery_event(result: JobResult) -> dict[str, Any]:
    """What an asset event tells. Rows are others after a rollback or a restore: readers have to look anew."""
    event: dict[str, Any] = {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "instant_time": result.instant_time,
        "completion_time": result.completion_time,
        "reused": result.reused,
    }
    if result.recovery is not None:
        event["undone"] = [each.instant_time for each in result.recovery.undone[:TOLD]]
        event["rows"] = result.recovery.row_count
    return event


def recovery_sections(result: JobResult) -> list[tuple[str, list[str]]]:
    """Groups of lines for the task's log."""
    if result.recovery is not None:
        return _undone_sections(result.recovery, is_preview=result.outcome is Outcome.PLANNED)
    if result.archive is not None:
        return _archive_sections(result.archive)
    return _orphan_sections(result.orphans) if result.orphans is not None else []


def _undone_sections(report: RecoveryReport, *, is_preview: bool) -> list[tuple[str, list[str]]]:
    undone = [
        f"{each.instant_time} {each.action} {each.state}{f', {each.operation}' if each.operation else ''}: "
        f"{each.file_count} files ({human_bytes(each.size_bytes)}), {each.row_count} rows"
        for each in report.undone
    ]
    names = [name for each in report.undone for name in each.file_names]
    return [
        ("Would be undone" if is_preview else "Undone", undone),
        ("Files that would go", names),
        ("Finished first", list(report.finished)),
        ("Left alone", list(report.left_alone)),
    ]


def _orphan_sections(report: OrphanReport) -> list[tuple[str, list[str]]]:
    files = [f"{each.path} ({human_bytes(each.size_bytes)}): {each.reason}" for each in report.files]
    reasons = [f"{count} files: {reason}" for reason, count in sorted(report.by_reason.items())]
    return [
        ("Orphans by reason", reasons),
        ("Orphans", files),
        ("Folders of jobs that are over", [*report.folders, *report.heartbeats]),
        ("Spared at the last look", list(report.spared)),
        ("Not deleted", list(report.failed_files)),
        (
            "Foreign files in partitions, never touched",
            [str(report.foreign_files)] if report.foreign_files else [],
        ),
    ]


def _archive_sections(report: ArchiveReport) -> list[tuple[str, list[str]]]:
    kept = f"{report.archived_commits} of {report.commits_before} commits and {report.archived_services} other instants"
    held = [f"Held back at {report.held_back_by}"] if report.held_back_by else []
    return [
        ("Archival", [kept, report.retention, *held]),
        ("Instants", list(report.instants)),
        ("New files of the archive", list(report.files)),
    ]


def recovery_summary(result: JobResult) -> str:
    """The result in one line."""
    if result.outcome is Outcome.NOTHING_TO_DO:
        return f"Nothing to do: {result.reason}"
    verb = "Preview, nothing written: " if result.outcome is Outcome.PLANNED else ""
    told = result.reason
    if result.recovery is not None and not result.reused:
        report = result.recovery
        told = f"{len(report.undone)} instants, {report.file_count} files, {report.row_count} rows"
    elif result.archive is not None:
        told = f"{len(result.archive.instants)} instants; {result.archive.retention}"
    elif result.orphans is not None:
        orphans = result.orphans
        told = f"{orphans.file_count} orphans ({human_bytes(orphans.size_bytes)}), {orphans.deleted_count} deleted"
    return f"{verb}{result.operation} {result.instant_time or ''}".rstrip() + (f": {told}" if told else "")
