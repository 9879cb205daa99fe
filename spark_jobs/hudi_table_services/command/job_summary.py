"""Convert the result of a job to a short summary for a terminal."""

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any, cast

from hudi_table_services.command import summaries
from hudi_table_services.command.summaries.details import Details
from hudi_table_services.command.summary import Summary, Tone
from hudi_table_services.contract.clustering import ClusteringReport
from hudi_table_services.contract.recovery import SavepointReport
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.text import human_time

DetailsOf = Callable[[Any, JobResult], Details]
"""Function that returns the details of a report; the report of a write is None."""

_WRITING = "writing"

_OUTCOMES = {
    Outcome.COMPLETED: ("completed", Tone.GOOD),
    Outcome.PLANNED: ("preview, nothing was written", Tone.PLAIN),
    Outcome.NOTHING_TO_DO: ("nothing to do", Tone.PLAIN),
    Outcome.FAILED: ("failed", Tone.BAD),
}


def details_of(service: str) -> DetailsOf:
    """Return the function `details` of the module in `summaries` that has the name of the service."""
    return cast("DetailsOf", import_module(f"{summaries.__name__}.{service}").details)


def job_summary(
    result: JobResult, command: str, elapsed_s: float = 0.0, shown_warnings: Collection[str] = ()
) -> Summary:
    """Return the summary of a result.

    Args:
        command: name of the sub-command.
        elapsed_s: duration of the job in seconds, shown from one second on.
        shown_warnings: warnings that the terminal already shows.
    """
    service = _WRITING if result.report is None else result.report.service
    details = details_of(service)(result.report, result)
    outcome, tone = _OUTCOMES[result.outcome]
    table = result.table_name or result.base_path.rstrip("/").rpartition("/")[2]
    name = f" of {table}" if table else ""
    return Summary(
        title=f"{command}{_other_operation(result, command)}{name}: {details.verdict or outcome}",
        tone=details.tone or tone,
        facts=(
            *_common_facts(result),
            *details.facts,
            ("Time", _elapsed(elapsed_s)),
            ("Warnings", _shown_above(sum(each in shown_warnings for each in result.warnings))),
        ),
        grids=details.grids,
        notes=[
            f"Warning: {each}"
            for each in result.warnings
            if each not in shown_warnings and not any(text in each for text in details.sentences)
        ],
    )


def _shown_above(warnings: int) -> str:
    return f"{warnings}, shown above" if warnings else ""


def _elapsed(seconds: float) -> str:
    """Return a duration as text, with seconds if it is below one hour. Below one second, the text is empty."""
    if seconds < 1:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if 0 < minutes < 60 else human_time(seconds)


def _other_operation(result: JobResult, command: str) -> str:
    """Return the operation of a write in parentheses if the sub-command has another name, as for a bulk insert."""
    is_write = result.report is None
    return f" ({result.operation})" if is_write and result.operation not in ("", command) else ""


def _common_facts(result: JobResult) -> tuple[tuple[str, str], ...]:
    # The details of a savepoint job contain the reason, and the reason of a preview would repeat the title.
    shows_reason = result.is_nothing_to_do or result.reused
    reason = result.reason if shows_reason and not isinstance(result.report, SavepointReport) else ""
    shows_instant = result.instant_time and not isinstance(result.report, ClusteringReport)
    return (
        ("Reason", reason),
        ("Instant", f"{result.instant_time} {result.action or ''}".strip() if shows_instant else ""),
    )
