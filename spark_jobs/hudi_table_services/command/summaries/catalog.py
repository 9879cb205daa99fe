"""Summary of a catalog sync."""

from hudi_table_services.command.summaries.details import Details
from hudi_table_services.command.summary import Grid
from hudi_table_services.contract.catalog.catalog_sync import CatalogReport
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted


def details(report: CatalogReport, result: JobResult) -> Details:
    """Return the details of a catalog sync or its preview."""
    facts = (
        ("Catalog", report.catalog),
        ("Shows commit", report.synced_commit),
        ("Partitions", counted(report.partition_count, "partition", ",") if report.partition_count else ""),
    )
    rows = [(table.table, line) for table in report.tables for line in table.lines]
    return Details(facts=facts, grids=(Grid(columns=("table", "change"), rows=rows, noun="change"),))
