"""Compare the sizes of log files with the sizes that their commits recorded.

A log file consists of blocks. If the storage lost the end of a file exactly between two blocks, the rest of the file
looks complete, and every reader of Hudi returns too few rows without an error. Only the commit metadata shows the loss.

Hudi stores the length of each log file after it has closed the file (HoodieAppendHandle.close, Hudi 0.15 and 1.2). Some
releases for Flink append only once to a log file, and store the bytes that this append wrote (RowDataLogWriteHandle).
In table version 6, later delta commits and rollbacks can append to a file. So a file can be longer than its commits
recorded, but not shorter.
"""

from collections.abc import Iterable, Iterator

from hudi_table_services.errors import CorruptTableError, ObjectNotFoundError
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.timeline_store import TimelineStore


def refuse_short_logs(store: TimelineStore, snapshot: TableSnapshot, slices: Iterable[FileSlice]) -> None:
    """Refuse slices with a log file that is shorter than its delta commit recorded.

    The function reads the delta commits of the active timeline that may have written the log files, each once and in
    parallel. It reads no log file, and no archived commit: log files of archived commits are not checked.

    Args:
        slices: slices of the snapshot, with the sizes of the listing. Log files of unknown size are not checked.

    Raises:
        CorruptTableError: a log file is too short, so rows of a commit are missing.
        MalformedMetadataError: a commit cannot be decoded; the message names its file.
    """
    logged = [each for each in slices if each.log_files]
    sizes = {
        join_path(each.file_group_id.partition_path, log.file_name): log.size_bytes
        for each in logged
        for log in each.log_files
        if log.size_bytes >= 0
    }
    if not sizes:
        return
    writers = list(_writers(snapshot, logged))
    for writer, stats in zip(writers, map_in_parallel(lambda i: _log_stats(store, i), writers), strict=True):
        for stat in stats:
            size = sizes.get(stat.path, stat.file_size_bytes)
            if size < stat.file_size_bytes:
                raise CorruptTableError(
                    f"{stat.path} has {size} bytes, but the {writer.action.value} {writer.requested_time} wrote "
                    f"{stat.file_size_bytes} bytes: committed rows are missing.",
                    path=stat.path,
                    hint="Restore the file from a backup. Without a backup, the rows are lost: roll the commit back "
                    "with rollback.py if it is the newest, or compact the table with Hudi, which does not notice the "
                    "loss. Then write the rows again.",
                )


def _writers(snapshot: TableSnapshot, slices: list[FileSlice]) -> Iterator[Instant]:
    """The completed delta commits that may have written log files of the slices, oldest first.

    From table version 8 on, the names of the log files contain these instants. In version 6, a delta commit that writes
    to a slice begins after the base instant in the names of the slice's log files.
    """
    named = {log.instant_time for each in slices for log in each.log_files}
    has_own = snapshot.config.table_version.has_own_log_instants
    for instant in snapshot.timeline.completed_writes:
        time = instant.requested_time
        if instant.action is Action.DELTA_COMMIT and (time in named if has_own else time >= min(named)):
            yield instant


def _log_stats(store: TimelineStore, instant: Instant) -> tuple[WriteStat, ...]:
    """Write stats of log files; empty if the instant has just been archived or undone."""
    try:
        return tuple(stat for stat in store.commit_metadata(instant).write_stats if stat.is_log_file)
    except ObjectNotFoundError:
        return ()
