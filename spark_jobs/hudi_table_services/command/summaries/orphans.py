"""Summary of a search for orphans."""

from hudi_table_services.command.summaries.details import Details
from hudi_table_services.command.summary import Grid
from hudi_table_services.contract.recovery import OrphanReport
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted, human_bytes


def details(report: OrphanReport, result: JobResult) -> Details:
    """Return the details of a search for orphans. The largest files come first."""
    found = f"{counted(report.file_count, 'file', ',')}, {human_bytes(report.size_bytes)}"
    facts = (
        ("Orphans", found if report.file_count else "none"),
        ("Deleted", counted(report.deleted_count, "file", ",") if report.deleted_count else ""),
        ("Copied to", report.backup_path),
        ("Too young", counted(report.too_young, "file", ",") if report.too_young else ""),
        ("Kept", ", ".join(report.spared)),
        ("Not deleted", ", ".join(report.failed_files)),
        (
            "Ended jobs",
            counted(len(report.folders) + len(report.heartbeats), "folder or heartbeat", ",")
            if report.folders or report.heartbeats
            else "",
        ),
        ("Foreign files", f"{report.foreign_files:,}, never changed" if report.foreign_files else ""),
    )
    largest = sorted(report.files, key=lambda each: -each.size_bytes)
    rows = [(human_bytes(each.size_bytes), each.path, each.reason) for each in largest]
    return Details(facts=facts, grids=(Grid(columns=(">size", "file", "reason"), rows=rows, noun="file"),))
