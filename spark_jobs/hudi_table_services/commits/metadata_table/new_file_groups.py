"""Create file groups of the metadata table in a delta commit."""

import logging
from collections.abc import Collection, Iterator
from functools import partial

from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.metadata_table.group_files import write_first_log_file
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.parallel import map_in_parallel

_LOG = logging.getLogger(__name__)


def create_file_groups(table: MetadataTable, groups: Collection[FileGroupId], instant_time: str) -> None:
    """Write the first log file of each file group. Call this function under the table lock.

    A rollback by Hudi 1.2.0 leaves the first log files of the file groups that the undone write created. As long as
    these log files exist, Hudi does not see the file groups, and Hudi's writes that need the file groups fail. So this
    function first deletes these log files.

    Args:
        groups: file groups that readers do not see yet.
        instant_time: time of the delta commit, which is pending.

    Raises:
        ObjectExistsError: another process is writing the same instant.
    """
    for partition in sorted({group.partition_path for group in groups}):
        ids = {group.file_id for group in groups if group.partition_path == partition}
        for path in list(_undone_log_files(table, partition, ids)):
            table.storage.delete(path)
            _LOG.info("Deleted the log file %s of an undone write from the metadata table", path)
    map_in_parallel(partial(write_first_log_file, table.storage, instant_time=instant_time), groups)


def _undone_log_files(table: MetadataTable, partition: str, file_ids: Collection[str]) -> Iterator[str]:
    """Paths of log files in these file groups that belong to no instant on the timeline of the metadata table."""
    known = {instant.requested_time for instant in table.timeline}
    for stored in table.storage.list_folder(partition).files:
        log = LogFile.parse_or_none(stored.name)
        if log is not None and log.file_id in file_ids and log.instant_time not in known:
            yield stored.path
