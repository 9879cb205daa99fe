"""Choose the names of new log files (HoodieAppendHandle, Hudi 0.15 and 1.2).

Table version 6: the name contains the base instant of the slice. If a compaction of the file group is pending, the name
contains the requested time of the compaction instead. A log file with another time would open a new slice without a
base file, and the rows of the base file would disappear for every reader. The number follows the highest number in the
slice.

Table version 8 and later: the name contains the time of the delta commit, and the number is 1. The completion time of
the delta commit decides to which slice the log file belongs.
"""

from hudi_table_services.model.file_group import FileSlice, LogTarget
from hudi_table_services.model.table_version import TableVersion


def log_target(
    file_slice: FileSlice, version: TableVersion, own_time: str, compaction_time: str | None = None
) -> LogTarget:
    """Return the name of the log file that a delta commit adds to a slice.

    Args:
        file_slice: the newest slice of the file group, with all its log files.
        own_time: requested time of the delta commit.
        compaction_time: requested time of the pending compaction of the file group; None if no compaction is pending.
    """
    if version.has_own_log_instants:
        return LogTarget(instant_time=own_time, version=1, previous_commit=own_time)
    name_time = compaction_time or file_slice.base_instant_time
    logs = [log for log in file_slice.log_files if log.instant_time == name_time]
    base = file_slice.base_file
    return LogTarget(
        instant_time=name_time,
        version=max((log.version for log in logs), default=0) + 1,
        previous_commit=name_time,
        base_file_name=base.file_name if base is not None and base.instant_time == name_time else "",
        earlier_logs=tuple(log.file_name for log in logs),
    )
