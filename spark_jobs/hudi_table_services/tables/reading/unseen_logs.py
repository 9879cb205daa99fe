"""Recognise deleted log files that had no rows of a read.

In table version 6, the name of a log file does not contain the delta commit that wrote the file. So a read also opens
the log files of delta commits that are not complete, and ignores their blocks. When such a delta commit is undone, the
rollback deletes the log files that have only blocks of this commit, possibly while the read is running.
"""

from dataclasses import dataclass

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore


@dataclass(frozen=True, slots=True)
class UnseenLogs:
    """The log files that no write of a read's state has written. A Spark task asks for them after a failed request.

    Attributes:
        visibility: the instants that the read sees.
    """

    storage: Storage
    visibility: Visibility

    def __call__(self, path: str) -> bool:
        """Whether a file is a log file to which no visible write has added a block.

        Every completed write names its log files in its commit metadata. If a visible write that may have written to
        the file has been archived or undone, this is not known any more, and the result is False.

        Args:
            path: a file of the read that does not exist, relative to the base path.

        Raises:
            HudiTableServiceError: the timeline or a commit cannot be read.
        """
        log = LogFile.parse_or_none(file_name(path))
        if log is None or self.visibility.has_own_log_instants:
            return False
        first = self.visibility.first_write_time
        if first is None or log.instant_time < first:
            return False
        # A write to a slice begins after the base instant of the slice, which is the instant in the file name.
        seen = {time for time in self.visibility.completed if time >= log.instant_time}
        store = TimelineStore(self.storage, read_table_config(self.storage), SystemClock())
        writers = [each for each in store.load().completed_writes if each.requested_time in seen]
        if len(writers) < len(seen):
            return False
        try:
            commits = map_in_parallel(store.commit_metadata, writers)
        except ObjectNotFoundError:
            return False
        written = {file_name(stat.path) for commit in commits for stat in commit.write_stats}
        return log.file_name not in written
