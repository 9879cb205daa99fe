"""Compute how fast the tasks of earlier compactions were, from the commit metadata of these compactions."""

from collections.abc import Iterable

from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata, WriteOperation, WriteStat

_LOG_BYTES = "totalLogSizeCompacted"


def measured_bytes_per_second(compactions: Iterable[CommitMetadata]) -> float | None:
    """Return the bytes that one task read and wrote per second, as the mean over all write stats with a duration.

    A task reads the log files and the previous base file, and writes the new base file. The commit does not contain the
    size of the previous base file, so the function assumes the size of the new base file. Commits with another write
    operation than COMPACT are ignored.

    Returns:
        None if no stat has a duration.
    """
    total_bytes = total_ms = 0
    for metadata in compactions:
        if metadata.operation_type is not WriteOperation.COMPACT:
            continue
        for stat in metadata.write_stats:
            duration = stat.total_scan_time_ms + stat.total_upsert_time_ms + stat.total_create_time_ms
            if duration > 0:
                total_ms += duration
                total_bytes += _processed_bytes(stat)
    return total_bytes * 1000 / total_ms if total_ms and total_bytes else None


def _processed_bytes(stat: WriteStat) -> int:
    logs = stat.extra.get(_LOG_BYTES)
    base_files = 1 if stat.prev_commit in ("", NEW_FILE_GROUP) else 2
    return base_files * stat.file_size_bytes + (logs if isinstance(logs, int) else 0)
