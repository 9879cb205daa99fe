"""Summary of a rollback or a restore."""

from hudi_table_services.command.summaries.details import Details
from hudi_table_services.command.summary import Grid
from hudi_table_services.contract.recovery import RecoveryReport
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import human_bytes


def details(report: RecoveryReport, result: JobResult) -> Details:
    """Return the details of a rollback or a restore, or of its preview. Instants are newest first."""
    facts = (
        ("Savepoint", report.savepoint),
        ("Completed", ", ".join(report.finished)),
        ("Not undone", " ".join(report.left_alone)),
    )
    rows = [
        (
            each.instant_time,
            each.operation.lower() or each.action,
            each.state,
            f"{each.file_count:,}",
            human_bytes(each.size_bytes),
            f"{each.row_count:,}",
        )
        for each in report.undone
    ]
    title = "Would be undone" if result.is_preview else "Undone"
    columns = ("instant", "operation", "state", ">files", ">size", ">rows")
    grid = Grid(columns=columns, rows=rows, noun="instant", title=title, whole=("instant",))
    return Details(facts=facts, grids=(grid,))
