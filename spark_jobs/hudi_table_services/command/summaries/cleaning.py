"""Summary of a clean. The partitions in which the clean deletes the most bytes come first."""

from hudi_table_services.command.summaries.details import Details, shown_path
from hudi_table_services.command.summary import Grid
from hudi_table_services.contract.cleaning import CleanReport
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted, human_bytes


def details(report: CleanReport, result: JobResult) -> Details:
    """Return the details of a clean or its preview."""
    verb = "would be deleted" if result.is_preview else "deleted"
    freed = f"{counted(report.file_count, 'file', ',')} {verb}, {human_bytes(report.size_bytes)}"
    # The summary of every job shows the reason why there was nothing to do.
    deletes_nothing = not report.file_count and not result.is_nothing_to_do and not result.reused
    facts = (
        ("Files", freed),
        ("Reason", result.reason if deletes_nothing else ""),
        ("Not deleted", counted(report.failed_count, "file", ",") if report.failed_count else ""),
        # The reason why nothing is deleted also contains the retention.
        ("Retention", report.retention if report.file_count or result.reused else ""),
        ("Blocked by", f"pending instant {report.blocker}" if report.blocker else ""),
        ("Rolled back", ", ".join(report.rolled_back)),
        ("Completed", ", ".join(report.finished)),
    )
    largest = sorted(report.partitions, key=lambda each: (-each.size_bytes, -each.file_count))
    rows = [
        (shown_path(each.partition_path), f"{each.file_count:,}", human_bytes(each.size_bytes))
        for each in largest
    ]
    return Details(
        facts=facts, grids=(Grid(columns=("partition", ">files", ">size"), rows=rows, noun="partition"),)
    )
