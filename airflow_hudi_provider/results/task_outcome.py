"""Decide, from how a job ended, whether its task succeeds, and build the task's XCom and asset event."""

import json
import logging
from dataclasses import dataclass
from typing import Any

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from hudi_table_services.contract.result import JobError, JobResult, Outcome
from hudi_table_services.errors import HudiTableServiceError

SKIPPED_KEY = "hudi_skipped"
"""Key of the XCom with the result of a task that found nothing to do and ends as skipped.

Such a task has no return value. The XCom has the form of the return value.
"""

_SHOWN_PARTITIONS = 50
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """How a submission ended.

    Attributes:
        committed: the result of the request according to the timeline: a commit, or the outcome that nothing is left to
            do. None for a dry run, or if the timeline does not show that the request is completed.
        result: the job's result document, or None if there is no valid result; `problem` then contains the reason.
        failure: the error of spark-submit. None if the exit code is 0.
        left_behind: a sentence that says what a job of this kind has changed if it did not complete the request.
    """

    request_id: str
    committed: JobResult | None
    result: JobResult | None
    failure: Exception | None
    problem: str
    left_behind: str = "Nothing was committed."


def decide_outcome(end: JobEnd, log: Any) -> JobResult:
    """Decide the outcome of a task: first by the timeline, then by the result document, then by the exit code.

    Raises:
        HudiTaskError: nothing was committed, and another try may succeed; or the timeline contradicts the result
            document.
        HudiTaskRefusedError: nothing was committed, and the request cannot succeed without a change.
    """
    result, committed = end.result, end.committed
    if end.failure is None and result is not None and result.outcome is not Outcome.FAILED:
        if result.outcome is Outcome.COMPLETED and committed is None:
            raise HudiTaskError(
                f"Spark succeeded and the job reported that it completed instant {result.instant_time}, but no "
                f"completed instant on the timeline has the request id {end.request_id}. "
                "It is unknown whether the rows were written; check the timeline in .hoodie before you run the task "
                "again."
            )
        return result
    if committed is not None:
        what = (
            f"Nothing is left to do ({committed.reason})"
            if committed.outcome is Outcome.NOTHING_TO_DO
            else f"The commit {committed.instant_time} is on the timeline"
        )
        why = end.failure or end.problem or "the job reported a failure."
        log.warning("%s, so the task does not fail, although %s", what, why)
        return result if result is not None and result.outcome is Outcome.COMPLETED else committed
    if result is not None and result.error is not None:
        raise task_error(result.error)
    if end.failure is not None:
        raise _process_error(end.failure, end) from end.failure
    raise HudiTaskError(
        f"The job's process ended with success, but {end.left_behind[0].lower()}{end.left_behind[1:]} {end.problem} "
        "The job may have been stopped before it began; see Spark's lines above."
    )


def _process_error(failure: Exception, end: JobEnd) -> HudiTaskError:
    """Return the task's exception for a process that failed without a result."""
    reason, hint = (failure.reason, failure.hint) if isinstance(failure, HudiTaskError) else ("", "")
    reason = f"{reason or failure} {end.problem} {end.left_behind}"
    error = HudiTaskError(f"{reason} {hint}".strip())
    error.reason, error.hint = reason, hint
    return error


def task_error(error: HudiTableServiceError | JobError) -> HudiTaskError | HudiTaskRefusedError:
    """Return the task's exception for an error of a job. Airflow retries the task only if the error is retryable."""
    message = f"{error.kind}: {error.message} {error.hint}".strip()
    raised = HudiTaskError(message) if error.retryable else HudiTaskRefusedError(message)
    raised.kind, raised.reason, raised.hint = error.kind, error.message, error.hint
    return raised


def push_skipped(context: Any, answer: dict[str, Any]) -> None:
    """Push the result of a task that Airflow is going to mark as skipped, so that the Hudi tab can show the reason."""
    try:
        context["ti"].xcom_push(key=SKIPPED_KEY, value=answer)
    except Exception as unpushed:  # noqa: BLE001 - the task is skipped, whether or not the page can show the reason
        _LOG.debug("The result of the skipped task was not pushed: %s", unpushed)


def xcom_of(result: JobResult) -> dict[str, Any]:
    """Return the result document as plain JSON values.

    The number of partitions is limited, because XComs are stored as rows of a database.
    """
    document: dict[str, Any] = json.loads(result.to_json())
    document["partition_count"] = len(result.partitions)
    document["partitions"] = document["partitions"][:_SHOWN_PARTITIONS]
    return document


def event_of(result: JobResult) -> dict[str, Any]:
    """Return the ``extra`` field of an asset event. A consumer can use the values to read exactly this task's rows."""
    return {
        "outcome": result.outcome.value,
        "reused": result.reused,
        "instant_time": result.instant_time,
        "completion_time": result.completion_time,
        "operation": result.operation,
        "rows": json.loads(result.to_json())["rows"],
        "partitions": [partition.partition_path for partition in result.partitions[:_SHOWN_PARTITIONS]],
        "partition_count": len(result.partitions),
    }
