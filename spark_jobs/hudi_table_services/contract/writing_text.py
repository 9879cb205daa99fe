"""The result of a write as text, for logs and terminals."""

from hudi_table_services.contract.report import Figures, Section
from hudi_table_services.contract.result import JobResult, Outcome, PartitionReport
from hudi_table_services.contract.text import NOT_PARTITIONED, bar, counted, human_bytes

_SHOWN_PARTITIONS = 30


def write_sections(result: JobResult) -> list[Section]:
    """Return the plan and the files of each partition."""
    return [("Plan by partition", _plan_lines(result)), ("Files before and after", _file_lines(result))]


def write_summary(result: JobResult) -> str:
    """Return the result in one line."""
    rows, counts = result.rows, _counts(result)
    match result.outcome:
        case Outcome.COMPLETED if result.reused:
            return f"{result.instant_time}: {result.reason} (that attempt: {counts})."
        case Outcome.COMPLETED:
            before, after = result.files_before, result.files_after
            return (
                f"{result.action} {result.instant_time}: {counts}; "
                f"{before.file_count} → {counted(after.file_count, 'file')}, "
                f"{human_bytes(before.size_bytes)} → {human_bytes(after.size_bytes)}{_where(result)}"
            )
        case Outcome.PLANNED:
            if replaced := replaced_rows(result):
                return f"Planned, nothing written: {counted(rows.read, 'row')} read, {replaced}."
            return f"Planned, nothing written: {counted(rows.read, 'row')} read."
        case Outcome.NOTHING_TO_DO:
            return f"Nothing to do: {result.reason}"
        case _:
            return result.failure


def replaced_rows(result: JobResult) -> str:
    """Return how many stored rows an overwrite or `delete_partition` removes, in words; empty for other writes."""
    if not result.replaced_file_groups:
        return ""
    would = "would be " if result.is_preview else ""
    verb = "removed" if result.operation == "delete_partition" else "replaced"
    rows = result.rows.replaced
    if rows is None:
        return f"all rows of {counted(result.replaced_file_groups, 'file group', ',')} {would}{verb}"
    return f"{counted(rows, 'stored row', ',')} {would}{verb}"


def _where(result: JobResult) -> str:
    """Return how many partitions the numbers of files cover, in words; empty for a table without partitions."""
    is_partitioned = any(each.partition_path for each in result.partitions)
    return f" in {counted(len(result.partitions), 'written partition')}" if is_partitioned else ""


def _counts(result: JobResult) -> str:
    rows = result.rows
    counts = f"{rows.inserted} inserted, {rows.updated} updated, {rows.deleted} deleted"
    older = f", {rows.older_than_stored} older than the stored version" if rows.older_than_stored else ""
    unchanged = f", {rows.unchanged} unchanged" if rows.unchanged else ""
    replaced = replaced_rows(result)
    return counts + unchanged + older + (f", {replaced}" if replaced else "")


def _plan_lines(result: JobResult) -> list[str]:
    if result.reused:
        return []
    lines = [_plan_line(partition) for partition in result.partitions[:_SHOWN_PARTITIONS]]
    return [*lines, *_more(result)]


def _plan_line(partition: PartitionReport) -> str:
    padded = sum(change.insert_count for change in partition.padded)
    opened = sum(change.insert_count for change in partition.opened)
    return (
        f"{partition.partition_path or NOT_PARTITIONED}: {counted(len(partition.padded), 'small file')} padded with "
        f"{counted(padded, 'row')}, {counted(len(partition.opened), 'file')} opened with {counted(opened, 'row')}, "
        f"{len(partition.rewritten)} rewritten; "
        f"planned with {partition.record_size}"
    )


def _file_lines(result: JobResult) -> list[str]:
    if result.outcome is not Outcome.COMPLETED or result.reused or not result.partitions:
        return []
    names = {p.partition_path: p.partition_path or NOT_PARTITIONED for p in result.partitions}
    width = max(len("partition"), *map(len, names.values()))
    largest = max((p.files_after.size_bytes for p in result.partitions), default=0)
    lines = [f"{'partition'.ljust(width)}  {'files':^11} {'bytes':^23}".rstrip()]
    for partition in result.partitions[:_SHOWN_PARTITIONS]:
        before, after = partition.files_before, partition.files_after
        lines.append(
            f"{names[partition.partition_path].ljust(width)}  {before.file_count:>4} → {after.file_count:<4} "
            f"{human_bytes(before.size_bytes):>10} → {human_bytes(after.size_bytes):<10} "
            f"{bar(after.size_bytes, largest)}"
        )
    classes = ", ".join(f"{count} of {name}" for name, count in result.files_after.histogram.items())
    return [*lines, *_more(result), f"Sizes after: {classes}"]


def _more(result: JobResult) -> list[str]:
    more = len(result.partitions) - _SHOWN_PARTITIONS
    return [f"… and {counted(more, 'more partition')}"] if more > 0 else []


def write_figures(result: JobResult) -> Figures:
    """Return the number of rows that the write changed, and the files that its commit added."""
    sizes = [
        change.size_after_bytes
        for partition in result.partitions
        for change in (*partition.padded, *partition.opened, *partition.rewritten)
        if change.size_after_bytes is not None
    ]
    return Figures(
        rows=result.rows.inserted + result.rows.updated + result.rows.deleted,
        files_written=len(sizes),
        bytes_written=sum(sizes),
    )
