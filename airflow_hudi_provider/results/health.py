"""What a health task tells: its return value, its lines in the log, and asset events."""

import json
from dataclasses import asdict
from typing import Any

from hudi_table_services.contract.health import HealthReport
from hudi_table_services.contract.health_text import health_lines
from hudi_table_services.contract.result import JobResult

TOLD_PENDING = 50


def health_answer(result: JobResult) -> dict[str, Any]:
    """The report as plain JSON values, of pending instants the first `TOLD_PENDING`."""
    report = _report(result)
    answer: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    return {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        "table_name": result.table_name,
        **answer,
        "pending": answer["pending"][:TOLD_PENDING],
        "pending_count": len(report.pending),
        "files": result.files_after.file_count,
        "bytes": result.files_after.size_bytes,
        "histogram": dict(result.files_after.histogram),
    }


def health_event(result: JobResult) -> dict[str, Any]:
    """What an asset event tells."""
    report = _report(result)
    return {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "status": report.status,
        "measures": dict(report.measures),
    }


def health_sections(result: JobResult) -> list[tuple[str, list[str]]]:
    """Groups of lines for the task's log."""
    return [("Health", health_lines(_report(result), result.files_after))]


def health_summary(result: JobResult) -> str:
    """The result in one line."""
    report = _report(result)
    told = "; ".join(f"{each.measure} is {each.value:g}, above {each.limit:g}" for each in report.findings)
    return f"The table is {report.status}" + (f": {told}" if told else "")


def _report(result: JobResult) -> HealthReport:
    return result.health or HealthReport()
