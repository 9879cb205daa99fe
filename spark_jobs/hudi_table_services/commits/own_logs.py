"""Delete the log files of a pending delta commit of table version 6, before its other files are rolled back.

The name of such a log file contains the base instant of a slice, so a plan that deletes files by the instant in their
names does not include it. Writes of this project put their blocks into new files, so the whole file can be deleted. A
log file with blocks of other instants stays: only a rollback block can undo a part of it.
"""

import logging

from hudi_table_services.errors import MalformedFileNameError, ObjectNotFoundError
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.model.instant import Instant
from hudi_table_services.storage.log_files.located_blocks import locate_blocks
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def delete_own_logs(table: TableAccess, pending: Instant) -> None:
    """Delete the marked log files that contain only blocks of this instant, with their markers.

    Call this function under the table lock, before the plan of the rollback is made. Readers ignore the blocks, because
    the instant is pending.

    Raises:
        StorageError: a file could not be deleted.
        MalformedMetadataError: a marked log file is damaged.
    """
    markers = MarkerStore(table.storage, pending.requested_time)
    try:
        appended = [each.data_file_path for each in markers.markers() if each.kind is MarkerKind.APPEND]
    except MalformedFileNameError:
        return  # the files are found by listing
    for path in appended:
        if _is_own(table.storage, path, pending.requested_time):
            table.storage.delete(path)
            _LOG.info("Deleted %s", path)
            markers.remove(path, MarkerKind.APPEND)


def _is_own(storage: Storage, path: str, instant_time: str) -> bool:
    """Whether a log file is missing, or contains only blocks of this instant. An incomplete last block is ignored."""
    try:
        blocks = locate_blocks(storage, path).blocks
    except ObjectNotFoundError:
        return True
    return all(block.instant_time == instant_time for block in blocks)
