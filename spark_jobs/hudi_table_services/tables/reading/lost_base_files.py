"""Find out whether a file slice that has only log files once had a base file."""

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.timeline_store import TimelineStore

_BASE_FILE = "baseFile"
"""Field of the write stat of a log file: name of the base file of the slice."""


def lacks_base_file(store: TimelineStore, timeline: Timeline, file_slice: FileSlice) -> bool:
    """Whether the commits that the log files of a slice name wrote a base file of the slice, or wrote to one.

    From table version 8 on, log files are named after their delta commits, and the write stat of a log file names the
    base file of its slice (HoodieDeltaWriteStat, Hudi 1.2). In version 6, log files are named after the write of the
    base file. Archived commits are not read.
    """
    times = {log.instant_time for log in file_slice.log_files}
    group = file_slice.file_group_id
    for instant in timeline.completed_writes:
        if instant.requested_time not in times:
            continue
        try:
            stats = store.commit_metadata(instant).write_stats
        except ObjectNotFoundError:
            continue  # it was just archived
        for stat in stats:
            if (stat.partition_path, stat.file_id) != (group.partition_path, group.file_id):
                continue
            if not stat.is_log_file or stat.extra.get(_BASE_FILE):
                return True
    return False
