"""What a clean task tells: its return value, its lines in the log, and asset events."""

from typing import Any

from airflow_hudi_provider.results.table_picture import human_bytes
from hudi_table_services.contract.cleaning import CleanedPartition, CleanReport
from hudi_table_services.contract.result import JobResult, Outcome

TOLD_PARTITIONS = 50
TOLD_FILES = 200


def clean_answer(result: JobResult) -> dict[str, Any]:
    """The return value of the task; only a preview brings the names of files, the first `TOLD_FILES`."""
    report = _report(result)
    answer = {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        "table_name": result.table_name,
        "reason": result.reason,
        "reused": result.reused,
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
        "waiting": list(report.waiting[:TOLD_PARTITIONS]),
        "waiting_count": len(report.waiting),
        "partitions": [_partition(each) for each in report.partitions[:TOLD_PARTITIONS]],
        "partition_count": len(report.partitions),
        "warnings": list(result.warnings),
    }
    if result.outcome is Outcome.PLANNED:
        answer["file_names"] = _paths(report)[:TOLD_FILES]
    return answer


def _partition(partition: CleanedPartition) -> dict[str, Any]:
    return {
        "partition_path": partition.partition_path,
        "files": partition.file_count,
        "bytes": partition.size_bytes,
        "failed_files": list(partition.failed_files),
        "is_removed": partition.is_removed,
    }


def _paths(report: CleanReport) -> list[str]:
    return [
        f"{each.partition_path}/{name}" if each.partition_path else name
        for each in report.partitions
        for name in each.file_names
    ]


def clean_event(result: JobResult) -> dict[str, Any]:
    """What an asset event tells; rows are the same after a clean, so readers of the latest state may skip it."""
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


def clean_sections(result: JobResult) -> list[tuple[str, list[str]]]:
    """Groups of lines for the task's log."""
    report = _report(result)
    retention = [f"Policy {report.policy}: {report.retention}"] if report.retention else []
    if report.earliest_commit_to_retain:
        retention.append(f"Everything since {report.earliest_commit_to_retain} stays readable")
    if report.blocker:
        retention.append(f"Held back by the pending instant {report.blocker}")
    retention += [
        f"Outdated files stay for now in {path or '(not partitioned)'}" for path in report.waiting[:10]
    ]
    verb = "would go" if result.outcome is Outcome.PLANNED else "went"
    partitions = [_line(each, verb) for each in report.partitions[:TOLD_PARTITIONS]]
    names = _paths(report)[:TOLD_FILES] if result.outcome is Outcome.PLANNED else []
    return [("Retention", retention), ("Partitions", partitions), ("Files that would go", names)]


def _line(partition: CleanedPartition, verb: str) -> str:
    line = (
        f"{partition.partition_path or '(not partitioned)'}: {partition.file_count} files "
        f"({human_bytes(partition.size_bytes)}) {verb}"
    )
    if partition.is_removed:
        line += ", and the partition with them"
    if partition.failed_files:
        line += f"; {len(partition.failed_files)} could not be deleted and are tried again by the next clean"
    return line


def clean_summary(result: JobResult) -> str:
    """The result in one line."""
    report = _report(result)
    files = f"{report.file_count} files, {human_bytes(report.size_bytes)}"
    match result.outcome:
        case Outcome.COMPLETED:
            failed = f"; {report.failed_count} could not be deleted" if report.failed_count else ""
            if result.reused:
                return f"clean {result.instant_time}: done by an earlier attempt, {report.file_count} files deleted"
            return f"clean {result.instant_time or ', '.join(report.finished)}: {files} deleted{failed}"
        case Outcome.PLANNED:
            return f"Preview, nothing deleted: {files} would go"
        case _:
            return f"Nothing to do: {result.reason}"


def _report(result: JobResult) -> CleanReport:
    return result.clean or CleanReport(policy="")
