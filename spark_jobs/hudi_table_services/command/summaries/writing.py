"""Summary of a write: rows, files and sizes, and the partitions with the largest changes."""

from hudi_table_services.command.summaries.details import Details, change, change_of_size, shown_path
from hudi_table_services.command.summary import Grid
from hudi_table_services.contract.result import FileGroupChange, JobResult, PartitionReport
from hudi_table_services.contract.text import counted, human_bytes
from hudi_table_services.contract.writing_text import replaced_rows


def details(_: None, result: JobResult) -> Details:
    """Return the details of a completed, planned or unnecessary write."""
    if result.is_preview:
        grid = _partitions(result) if result.operation == "delete_partition" else _plan(result)
        return Details(facts=(("Rows", _rows(result)),), grids=(grid,))
    if not result.is_completed:
        rows = result.rows
        counts = {
            "unchanged": rows.unchanged,
            "deletes without a stored row of this key and partition": rows.unmatched_deletes,
        }
        parts = [f"{count:,} {meaning}" for meaning, count in counts.items() if count]
        return Details(facts=(("Rows", ", ".join(parts)),))
    before, after = result.files_before, result.files_after
    files = (
        f"{before.file_count:,} → {after.file_count:,}, {change_of_size(before.size_bytes, after.size_bytes)}"
    )
    facts = (("Rows", _rows(result)), (_label_of_files(result), "" if result.reused else files))
    return Details(facts=facts, grids=() if result.reused else (_partitions(result),))


def _label_of_files(result: JobResult) -> str:
    """Return a label that says how many partitions the numbers cover: only those that the write changed."""
    is_partitioned = any(each.partition_path for each in result.partitions)
    return f"Files in {counted(len(result.partitions), 'written partition')}" if is_partitioned else "Files"


def _rows(result: JobResult) -> str:
    rows = result.rows
    parts = [f"{rows.inserted:,} inserted", f"{rows.updated:,} updated", f"{rows.deleted:,} deleted"]
    others = {
        "unchanged": rows.unchanged,
        "older than the stored version": rows.older_than_stored,
        "left out because another row has their key": rows.superseded,
        "dropped because their key exists": rows.dropped_existing,
        "deletes without a stored row": rows.unmatched_deletes,
    }
    parts += [f"{count:,} {meaning}" for meaning, count in others.items() if count]
    if replaced := replaced_rows(result):
        parts = [replaced] if result.operation == "delete_partition" else [*parts, replaced]
    return ", ".join(parts)


def _partitions(result: JobResult) -> Grid:
    changed = sorted(result.partitions, key=_changed_bytes, reverse=True)
    rows = [
        (
            shown_path(each.partition_path),
            change(f"{each.files_before.file_count:,}", f"{each.files_after.file_count:,}"),
            change_of_size(each.files_before.size_bytes, each.files_after.size_bytes),
        )
        for each in changed
    ]
    return Grid(columns=("partition", ">files", ">size"), rows=rows, noun="partition")


def _changed_bytes(partition: PartitionReport) -> int:
    return abs(partition.files_after.size_bytes - partition.files_before.size_bytes)


def _plan(result: JobResult) -> Grid:
    """Return the partitions of a dry run. The partitions with the most padded small files come first."""
    planned = sorted(result.partitions, key=lambda each: (len(each.padded), _row_count(each)), reverse=True)
    rows = [
        (
            shown_path(each.partition_path),
            f"{_row_count(each):,}",
            f"{len(each.padded):,}",
            f"{len(each.opened):,}",
            f"{len(each.rewritten):,}",
            human_bytes(sum(change.expected_size_bytes for change in _changes(each))),
        )
        for each in planned
    ]
    columns = ("partition", ">rows", ">small files padded", ">new files", ">other files rewritten", ">size")
    return Grid(columns=columns, rows=rows, noun="partition")


def _row_count(partition: PartitionReport) -> int:
    return sum(each.update_count + each.insert_count for each in _changes(partition))


def _changes(partition: PartitionReport) -> tuple[FileGroupChange, ...]:
    return (*partition.padded, *partition.opened, *partition.rewritten)
