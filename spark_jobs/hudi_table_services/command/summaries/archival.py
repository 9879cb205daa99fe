"""Summary of an archival."""

from hudi_table_services.command.summaries.details import Details
from hudi_table_services.command.summary import Grid
from hudi_table_services.contract.archival import ArchiveReport
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted


def details(report: ArchiveReport, result: JobResult) -> Details:
    """Return the details of an archival or its preview."""
    services = (
        f" and {counted(report.archived_services, 'other instant', ',')}" if report.archived_services else ""
    )
    commits = f"{report.archived_commits:,} of {counted(report.commits_before, 'commit', ',')}{services}"
    facts = (
        ("Archived", commits if report.instants else ""),
        ("Active", f"from {report.oldest_active} on" if report.oldest_active else ""),
        # Without archived instants, the reason of the result is the same sentence.
        ("Retention", report.retention if report.retention != result.reason else ""),
        ("Stopped at", report.held_back_by),
    )
    rows = [tuple(each.partition(".")[::2]) for each in report.instants]
    grid = Grid(columns=("instant", "action"), rows=rows, noun="instant", whole=("instant",))
    return Details(facts=facts, grids=(grid,))
