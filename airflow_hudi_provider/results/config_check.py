"""What a check of settings tells: its return value and its lines in the log."""

import json
from dataclasses import asdict
from typing import Any

from hudi_table_services.contract.config_check import ConfigReport
from hudi_table_services.contract.config_text import config_lines, config_verdict
from hudi_table_services.contract.result import JobResult

TOLD_FINDINGS = 100


def config_answer(result: JobResult) -> dict[str, Any]:
    """The report as plain JSON values, of findings the first `TOLD_FINDINGS`."""
    report = _report(result)
    answer: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    return {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        **answer,
        "findings": answer["findings"][:TOLD_FINDINGS],
        "finding_count": len(report.findings),
        "warnings": list(result.warnings),
    }


def config_sections(result: JobResult) -> list[tuple[str, list[str]]]:
    """Groups of lines for the task's log."""
    return [("Settings", config_lines(_report(result)))]


def config_summary(result: JobResult) -> str:
    """The result in one line."""
    return config_verdict(_report(result))


def _report(result: JobResult) -> ConfigReport:
    return result.config or ConfigReport()
