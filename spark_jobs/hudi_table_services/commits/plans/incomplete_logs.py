"""Judge log files that end with an incomplete block: a writer died, or the storage lost the end of a committed file."""

from collections.abc import Iterable, Sequence

from hudi_table_services.errors import CorruptTableError, ObjectNotFoundError
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.tables.table import TableAccess


def warnings_of_incomplete_logs(
    table: TableAccess, timeline: Timeline, skipped: Iterable[tuple[str, int]], service: str
) -> Sequence[str]:
    """Return a warning about each log file whose end the merge skipped, as readers skip it.

    Args:
        skipped: see `SliceLog.skipped`.
        service: name of the table service that merged the log files, for messages.

    Raises:
        CorruptTableError: the commit that wrote a log file names a larger size, so committed rows are missing. Only
            from table version 8 on, the name of a log file shows which commit wrote the file.
    """
    warnings = []
    for path, position in sorted(set(skipped)):
        _refuse_truncated(table, timeline, path, service)
        warnings.append(
            f"{path} has no complete block from position {position} on. Readers skip the rest of the file, and the "
            f"{service} skipped it, too."
        )
    return warnings


def _refuse_truncated(table: TableAccess, timeline: Timeline, path: str, service: str) -> None:
    if not table.config.table_version.has_own_log_instants:
        return
    time, size = LogFile.from_file_name(file_name(path)).instant_time, table.storage.size(path)
    for instant in timeline.find(time):
        if not (instant.is_completed and instant.action.writes_data):
            continue
        try:
            stats = table.timeline_store.commit_metadata(instant).write_stats
        except ObjectNotFoundError:
            continue  # the delta commit was just archived
        for stat in stats:
            if stat.path == path and stat.file_size_bytes not in (0, size):
                raise CorruptTableError(
                    f"{path} has {size} bytes and ends without a complete block, but the delta commit {time} wrote "
                    f"{stat.file_size_bytes} bytes: committed rows are missing.",
                    path=path,
                    hint=f"Restore the file from a backup. The {service} committed nothing.",
                )
