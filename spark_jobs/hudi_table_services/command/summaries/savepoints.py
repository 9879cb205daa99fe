"""Summary of a job that creates or deletes savepoints."""

from hudi_table_services.command.summaries.details import Details
from hudi_table_services.contract.recovery import SavepointReport
from hudi_table_services.contract.result import JobResult


def details(report: SavepointReport, result: JobResult) -> Details:
    """Return the details of a job for savepoints: its reason, which names the savepoints."""
    return Details(facts=(("Result", result.reason),))
