"""Build the parts of return values, asset events and results that all services with plans have in common."""

from collections.abc import Sequence
from typing import Any

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome

SHOWN_PLANS = 50
_SHOWN_PARTITIONS = 50
_SHOWN_REASONS = 20


def identity_of(result: JobResult, instants: Sequence[str]) -> dict[str, Any]:
    """Return the entries of a return value that say what was done, and which plans a later task can execute."""
    return {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        "table_name": result.table_name,
        "reused": result.reused,
        "reason": result.reason,
        "timings_s": dict(result.timings_s),
        "instant": next(iter(instants), None),
        "instants": list(instants),
    }


def shortened(partitions: Sequence[str], skipped: Sequence[str], skipped_count: int) -> dict[str, Any]:
    """Return partitions and left-out file slices, each as a short list and as the number of all entries."""
    return {
        "partitions": list(partitions[:_SHOWN_PARTITIONS]),
        "partition_count": len(partitions),
        "skipped": list(skipped[:_SHOWN_REASONS]),
        "skipped_count": skipped_count,
    }


def event_from(result: JobResult, answer: dict[str, Any], *figures: str) -> dict[str, Any]:
    """Return the ``extra`` field of an asset event. No plan changes rows, so readers may skip the event.

    Args:
        answer: return value of the task.
        figures: names of entries of the return value that only this service has.
    """
    names = ("outcome", "reused", "operation", "instants", "partitions", "partition_count", *figures)
    return {
        **{name: answer[name] for name in names},
        "instant_time": answer["instant"],
        "completion_time": result.completion_time,
    }


def draw(result: JobResult) -> str:
    """Return the sections and the summary of a result as one string, which is short enough for an XCom."""
    lines = []
    for title, of_section in result.sections():
        lines.extend([title, *(f"  {line}" for line in of_section)])
    return "\n".join([*lines, result.summary()])


def result_of_nothing(request: JobRequest, reason: str) -> JobResult:
    """Return the result of a request that needs no work."""
    return JobResult(
        request_id=request.request_id,
        outcome=Outcome.NOTHING_TO_DO,
        service=request.service,
        operation=request.work,
        table_name=request.table_name,
        base_path=request.base_path,
        reason=reason,
    )
