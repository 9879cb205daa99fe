"""Delete records of finished slices of compactions that are over. This module needs no pyarrow."""

import logging

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.compaction.compaction_history import RECORDS, records_folder
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def remove_old_records(table: TableAccess) -> None:
    """Delete the records of finished slices of all compactions that are no longer pending.

    An attempt leaves these records if it dies right after it has completed or cancelled the compaction.
    """
    found = [folder for folder in table.storage.list_folder(RECORDS).folders if folder.isdigit()]
    if not found:
        return
    # Loaded after the listing: a compaction that starts in between is pending on the loaded timeline.
    pending = {instant.requested_time for instant in table.load_timeline().pending}
    for instant_time in found:
        if instant_time not in pending:
            remove_records(table.storage, instant_time)


def remove_records(storage: Storage, instant_time: str) -> None:
    """Delete the records of the finished slices of a compaction that was completed or cancelled."""
    try:
        storage.delete_folder(records_folder(instant_time))
    except StorageError as failure:
        _LOG.warning("The records of compaction %s were not removed: %s", instant_time, failure)
