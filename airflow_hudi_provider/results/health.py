"""Build the return value and the asset event of a health task."""

import json
from dataclasses import asdict
from typing import Any

from hudi_table_services.contract.health import HealthReport
from hudi_table_services.contract.result import JobResult

SHOWN_PENDING = 50


def health_answer(result: JobResult) -> dict[str, Any]:
    """Return the report as plain JSON values, with at most `SHOWN_PENDING` pending instants."""
    report = _report(result)
    answer: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    del answer["live_files"]  # ``files``, ``bytes`` and ``histogram`` below contain the same numbers
    return {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        "table_name": result.table_name,
        "timings_s": dict(result.timings_s),
        **answer,
        "pending": answer["pending"][:SHOWN_PENDING],
        "pending_count": len(report.pending),
        "files": result.files_after.file_count,
        "bytes": result.files_after.size_bytes,
        "histogram": dict(result.files_after.histogram),
    }


def health_event(result: JobResult) -> dict[str, Any]:
    """Return the ``extra`` field of an asset event."""
    report = _report(result)
    return {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "status": report.status,
        "measures": dict(report.measures),
    }


def _report(result: JobResult) -> HealthReport:
    return result.report_as(HealthReport) or HealthReport()
