"""Switch the metadata table off before a commit that does not maintain it."""

import logging

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.options.keys.writing import METADATA_ENABLE
from hudi_table_services.storage.table_store import (
    disable_metadata_table,
    read_table_config,
    remove_unlisted_metadata_table,
)
from hudi_table_services.tables.table import TableAccess, must_disable_metadata_table

_LOG = logging.getLogger(__name__)


def switch_off_metadata_table(table: TableAccess) -> None:
    """Look again right before completing: any default Hudi write lists the metadata table anew.

    Call it under the table lock.

    Raises:
        UnsupportedTableError: somebody switched a metadata table on since the job began.
    """
    config = read_table_config(table.storage)
    if not must_disable_metadata_table(config):
        remove_unlisted_metadata_table(table.storage, config)
        return
    if not must_disable_metadata_table(table.config):
        raise UnsupportedTableError(
            "Another writer switched the metadata table on during this write.",
            hint=f"Run the request again, with {METADATA_ENABLE}=false to switch it off.",
        )
    disable_metadata_table(table.storage, config, table.clock)
    _LOG.warning("Switched off the metadata table; Hudi builds it anew at its next write.")
