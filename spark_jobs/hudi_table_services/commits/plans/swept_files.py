"""Delete base files that executions of a plan wrote and that the commit does not name, even if they have no markers.

In table version 6, log files that are named after a compaction contain rows of later writes. So log files stay.
"""

import logging
from collections.abc import Collection

from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def sweep_listed(
    table: TableAccess, instant_time: str, partitions: Collection[str], keep: Collection[str]
) -> None:
    """Delete all base files of the instant in these partitions, marked or not, except the files to keep."""
    for files in list_partitions(table.storage, partitions).values():
        for stored in files:
            is_log = stored.name.startswith(".")
            if not is_log and instant_in_file_name(stored.name) == instant_time and stored.path not in keep:
                table.storage.delete(stored.path)
                _LOG.warning("Deleted %s, which an earlier execution left", stored.path)
