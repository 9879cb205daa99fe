"""The result of a job as a short summary for a terminal."""

from collections.abc import Callable, Collection
from typing import Any

from hudi_table_services.command.summaries.archival import archival_details
from hudi_table_services.command.summaries.catalog import catalog_details
from hudi_table_services.command.summaries.cleaning import cleaning_details
from hudi_table_services.command.summaries.clustering import clustering_details
from hudi_table_services.command.summaries.config_check import config_check_details
from hudi_table_services.command.summaries.details import Details
from hudi_table_services.command.summaries.health import health_details
from hudi_table_services.command.summaries.metadata_table import metadata_table_details
from hudi_table_services.command.summaries.recovery import orphan_details, recovery_details
from hudi_table_services.command.summaries.writing import write_details
from hudi_table_services.command.summary import Summary, Tone
from hudi_table_services.contract.archival import ArchiveReport
from hudi_table_services.contract.catalog.catalog_sync import CatalogReport
from hudi_table_services.contract.cleaning import CleanReport
from hudi_table_services.contract.clustering import ClusteringReport
from hudi_table_services.contract.config_check import ConfigReport
from hudi_table_services.contract.health import HealthReport
from hudi_table_services.contract.metadata_table import MetadataTableReport
from hudi_table_services.contract.recovery import OrphanReport, RecoveryReport, SavepointReport
from hudi_table_services.contract.report import Report
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.text import human_time

DETAILS: dict[type[Report], Callable[[Any, JobResult], Details]] = {
    ArchiveReport: archival_details,
    CatalogReport: catalog_details,
    CleanReport: cleaning_details,
    ClusteringReport: clustering_details,
    ConfigReport: config_check_details,
    HealthReport: health_details,
    MetadataTableReport: metadata_table_details,
    OrphanReport: orphan_details,
    RecoveryReport: recovery_details,
    SavepointReport: lambda report, result: Details(facts=(("Result", result.reason),)),
}
"""Maps the class of each report to the function that returns its details."""

_OUTCOMES = {
    Outcome.COMPLETED: ("completed", Tone.GOOD),
    Outcome.PLANNED: ("preview, nothing was written", Tone.PLAIN),
    Outcome.NOTHING_TO_DO: ("nothing to do", Tone.PLAIN),
    Outcome.FAILED: ("failed", Tone.BAD),
}


def job_summary(
    result: JobResult, command: str, elapsed_s: float = 0.0, shown_warnings: Collection[str] = ()
) -> Summary:
    """Return the summary of a result.

    Args:
        command: name of the sub-command.
        elapsed_s: duration of the job in seconds, shown from one second on.
        shown_warnings: warnings that the terminal already shows.
    """
    details = (
        write_details(result)
        if result.report is None
        else DETAILS[type(result.report)](result.report, result)
    )
    outcome, tone = _OUTCOMES[result.outcome]
    table = result.table_name or result.base_path.rstrip("/").rpartition("/")[2]
    name = f" of {table}" if table else ""
    return Summary(
        title=f"{command}{_other_operation(result, command)}{name}: {details.verdict or outcome}",
        tone=details.tone or tone,
        facts=(
            *_common_facts(result),
            *details.facts,
            ("Time", human_time(elapsed_s) if elapsed_s >= 1 else ""),
        ),
        grids=details.grids,
        notes=[
            f"Warning: {each}"
            for each in result.warnings
            if each not in shown_warnings and not any(text in each for text in details.sentences)
        ],
    )


def _other_operation(result: JobResult, command: str) -> str:
    """Return the operation of a write in parentheses if the sub-command has another name, as for a bulk insert."""
    is_write = result.report is None
    return f" ({result.operation})" if is_write and result.operation not in ("", command) else ""


def _common_facts(result: JobResult) -> tuple[tuple[str, str], ...]:
    # Summaries of savepoints contain the reason; that of a preview repeats the title.
    shows_reason = result.is_nothing_to_do or result.reused
    reason = result.reason if shows_reason and not isinstance(result.report, SavepointReport) else ""
    shows_instant = result.instant_time and not isinstance(result.report, ClusteringReport)
    return (
        ("Reason", reason),
        ("Instant", f"{result.instant_time} {result.action or ''}".strip() if shows_instant else ""),
    )
