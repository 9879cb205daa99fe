"""Find the file groups of a partition that inserts may pad, and the reasons why other file groups may not be padded."""

from dataclasses import dataclass

from hudi_table_services.contract.text import human_bytes
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.file_sizing import FileSizingOptions, SkippedFileGroup
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.writing import SMALL_FILE_CANDIDATES, SMALL_FILE_LIMIT

NO_INSERTS_LEFT = "no inserts left for this file"
NO_ROOM = "no room for one more record"
NO_ROOM_AFTER_UPDATES = "no room after the batch's own updates"
OVER_CANDIDATES_LIMIT = f"over {SMALL_FILE_CANDIDATES}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallFiles:
    """File slices of one partition, by file id: slices that may be padded, and other slices with a reason for each."""

    candidates: tuple[FileSlice, ...]
    skipped: tuple[SkippedFileGroup, ...]


def find_small_files(
    snapshot: TableSnapshot, partition_path: str, options: FileSizingOptions, *, pad_small_files: bool
) -> SmallFiles:
    """Find the latest slices with a base file below the small-file limit, no log files and no pending plan."""
    candidates = []
    skipped = []
    for file_slice in sorted(snapshot.slices_of(partition_path), key=lambda s: s.file_group_id):
        reason = _obstacle(file_slice, snapshot, options, pad_small_files)
        if reason is None:
            candidates.append(file_slice)
        else:
            skipped.append(skip(file_slice, reason))
    return SmallFiles(candidates=tuple(candidates), skipped=tuple(skipped))


def skip(file_slice: FileSlice, reason: str) -> SkippedFileGroup:
    """Build the report entry of a slice that is not padded."""
    return SkippedFileGroup(
        file_group_id=file_slice.file_group_id, size_bytes=max(file_slice.size_bytes, 0), reason=reason
    )


def _obstacle(
    file_slice: FileSlice, snapshot: TableSnapshot, options: FileSizingOptions, pad_small_files: bool
) -> str | None:
    """Return the reason why the slice must not be padded, or None if it may be padded."""
    plan = snapshot.reserved_file_groups.get(file_slice.file_group_id)
    if plan is not None:
        return f"in the pending plan {plan}"
    if not pad_small_files:
        return "this operation pads no small files"
    if not options.pads_small_files:
        return f"padding is off ({SMALL_FILE_LIMIT} is 0)"
    if file_slice.base_file is None:
        return "has only log files, no base file to pad"
    if file_slice.log_files:
        return "has log files, which a compaction has to merge before a write can pad the file group"
    if file_slice.base_file.size_bytes < 0:
        return "size of its base file is unknown"
    if file_slice.base_file.size_bytes >= options.small_file_limit_bytes:
        return f"at or above the small-file limit of {human_bytes(options.small_file_limit_bytes)}"
    return None
