"""Build the return value of a configuration check."""

import json
from dataclasses import asdict
from typing import Any

from hudi_table_services.contract.config_check import ConfigReport
from hudi_table_services.contract.result import JobResult

SHOWN_FINDINGS = 100


def config_answer(result: JobResult) -> dict[str, Any]:
    """Return the report as plain JSON values, with at most `SHOWN_FINDINGS` findings."""
    report = _report(result)
    answer: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    return {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        "timings_s": dict(result.timings_s),
        **answer,
        "findings": answer["findings"][:SHOWN_FINDINGS],
        "finding_count": len(report.findings),
        "warnings": list(result.warnings),
    }


def _report(result: JobResult) -> ConfigReport:
    return result.report_as(ConfigReport) or ConfigReport()
