"""Build the return value and the asset event of tasks for archival, the metadata table, savepoints and recovery."""

import json
from dataclasses import asdict
from typing import Any

from hudi_table_services.contract.recovery import RecoveryReport
from hudi_table_services.contract.result import JobResult

SHOWN = 50
"""Maximum number of items of each list in an XCom.

The log shows more items, and the result document contains all items.
"""


def recovery_answer(result: JobResult) -> dict[str, Any]:
    """Build the return value of the task. Lists have at most `SHOWN` items; `<name>_count` is the full length."""
    answer: dict[str, Any] = {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        "table_name": result.table_name,
        "reason": result.reason,
        "reused": result.reused,
        "instant": result.instant_time,
        "timings_s": dict(result.timings_s),
        "warnings": list(result.warnings),
    }
    if result.is_preview:
        answer["picture"] = _picture(result)
    if result.report is not None:
        values = json.loads(json.dumps(asdict(result.report)))  # type: ignore[call-overload]  # reports are dataclasses
        for name, value in values.items():
            answer[name] = value[:SHOWN] if isinstance(value, list) else value
            if isinstance(value, list):
                answer[f"{name}_count"] = len(value)
    return answer


def _picture(result: JobResult) -> str:
    """Return the text that a person reads before approving the preview."""
    lines = [result.summary()]
    for title, of_section in result.sections():
        if of_section:
            lines += ["", f"{title}:", *(f"  {line}" for line in of_section[:SHOWN])]
            lines += [f"  … and {len(of_section) - SHOWN} more"] if len(of_section) > SHOWN else []
    return "\n".join(lines)


def recovery_event(result: JobResult) -> dict[str, Any]:
    """Return the ``extra`` field of an asset event.

    A rollback or restore changes rows, so consumers must read the table again.
    """
    event: dict[str, Any] = {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "instant_time": result.instant_time,
        "completion_time": result.completion_time,
        "reused": result.reused,
    }
    report = result.report_as(RecoveryReport)
    if report is not None:
        event["undone"] = [each.instant_time for each in report.undone[:SHOWN]]
        event["rows"] = report.row_count
    return event
