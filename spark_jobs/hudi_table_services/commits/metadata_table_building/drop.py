"""Drop partitions of a metadata table."""

import logging
from collections.abc import Collection

from hudi_table_services.commits.metadata_table_building.lost_partitions import forget_lost
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES
from hudi_table_services.planning.metadata_table.build_plan import BUILD_ORDER, dropped_with
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.table_store import (
    INFLIGHT_METADATA_PARTITIONS,
    METADATA_PARTITIONS,
    METADATA_TABLE,
    disable_metadata_table,
    read_table_config,
    update_properties,
)
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def drop_partitions(table: TableAccess, names: Collection[str], lock: TableLock) -> tuple[str, ...]:
    """Drop partitions of the metadata table. Call this under the table lock.

    The properties of the table change before the folders are deleted, so readers never use a partition without files.
    The instants of a partition stay on the timeline of the metadata table. A partition that does not exist is not an
    error, because an earlier attempt may have dropped it. If no partition is left, the metadata table is deleted.

    Args:
        names: partitions to drop. Dropping `column_stats` also drops `partition_stats`; dropping `files` drops all
            partitions.

    Returns:
        The dropped partitions that the properties listed, sorted by name.

    Raises:
        LockNotAcquiredError: the lock expired, was removed, or was taken over by another writer.
    """
    config = read_table_config(table.storage)
    listed = config.metadata_partitions + config.inflight_metadata_partitions
    dropped = dropped_with(names, listed)
    kept = tuple(name for name in config.metadata_partitions if name not in dropped)
    being_built = tuple(name for name in config.inflight_metadata_partitions if name not in dropped)
    lock.verify()
    forget_lost(table.storage, BUILD_ORDER if FILES in dropped else dropped)
    if not kept and not being_built:
        disable_metadata_table(table.storage, config, table.clock)
    else:
        changes = {METADATA_PARTITIONS: ",".join(kept), INFLIGHT_METADATA_PARTITIONS: ",".join(being_built)}
        if len(kept) + len(being_built) < len(listed):
            update_properties(table.storage, changes, table.clock)
        for name in dropped:
            table.storage.delete_folder(join_path(METADATA_TABLE, name))
    found = tuple(sorted(set(dropped) & set(listed)))
    _LOG.info("Dropped from the metadata table: %s", ", ".join(found) or "nothing")
    return found
