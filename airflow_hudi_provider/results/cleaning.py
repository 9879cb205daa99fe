"""Build the return value and the asset event of a clean task."""

from typing import Any

from hudi_table_services.contract.cleaning import CleanedPartition, CleanReport
from hudi_table_services.contract.result import JobResult

SHOWN_PARTITIONS = 50
SHOWN_FILES = 200


def clean_answer(result: JobResult) -> dict[str, Any]:
    """Build the return value of the task.

    A preview contains the names of files to delete, at most `SHOWN_FILES`. The result of a clean only names files that
    it could not delete.
    """
    report = _report(result)
    answer = {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        "table_name": result.table_name,
        "reason": result.reason,
        "reused": result.reused,
        "timings_s": dict(result.timings_s),
        "instant": result.instant_time,
        "policy": report.policy,
        "earliest_commit_to_retain": report.earliest_commit_to_retain,
        "retention": report.retention,
        "blocker": report.blocker,
        "files": report.file_count,
        "bytes": report.size_bytes,
        "failed_files": report.failed_count,
        "finished": list(report.finished),
        "rolled_back": list(report.rolled_back),
        "waiting": list(report.waiting[:SHOWN_PARTITIONS]),
        "waiting_count": len(report.waiting),
        "partitions": [_partition(each) for each in report.partitions[:SHOWN_PARTITIONS]],
        "partition_count": len(report.partitions),
        "warnings": list(result.warnings),
    }
    if result.is_preview:
        answer["file_names"] = report.paths[:SHOWN_FILES]
    return answer


def _partition(partition: CleanedPartition) -> dict[str, Any]:
    return {
        "partition_path": partition.partition_path,
        "files": partition.file_count,
        "bytes": partition.size_bytes,
        "failed_files": list(partition.failed_files),
        "is_removed": partition.is_removed,
    }


def clean_event(result: JobResult) -> dict[str, Any]:
    """Return the ``extra`` field of an asset event.

    A clean changes no rows, so readers of the latest state may skip the event.
    """
    report = _report(result)
    return {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "instant_time": result.instant_time,
        "completion_time": result.completion_time,
        "earliest_commit_to_retain": report.earliest_commit_to_retain,
        "files": report.file_count,
        "bytes": report.size_bytes,
    }


def _report(result: JobResult) -> CleanReport:
    return result.report_as(CleanReport) or CleanReport(policy="")
