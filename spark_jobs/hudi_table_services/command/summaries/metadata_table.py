"""Summary of a rebuild of the metadata table."""

from hudi_table_services.command.summaries.details import Details
from hudi_table_services.command.summary import Grid
from hudi_table_services.contract.metadata_table import MetadataTableReport
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import human_bytes


def details(report: MetadataTableReport, result: JobResult) -> Details:
    """Return the details of a rebuild or its preview. The numbers in a preview are estimates."""
    about = "about " if result.is_preview else ""
    facts = (("Before", ", ".join(report.partitions_before)), ("Dropped", ", ".join(report.dropped)))
    rows = [
        (each.name, f"{each.file_groups:,}", f"{about}{each.records:,}", about + human_bytes(each.size_bytes))
        for each in report.built
    ]
    title = "Would be built" if result.is_preview else "Built"
    columns = ("partition", ">file groups", ">records", ">size")
    return Details(facts=facts, grids=(Grid(columns=columns, rows=rows, noun="partition", title=title),))
