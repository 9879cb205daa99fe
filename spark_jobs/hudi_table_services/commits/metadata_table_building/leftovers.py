"""Delete the files and the instants that a dead build left in a metadata table."""

import logging
from collections.abc import Collection

from hudi_table_services.commits.metadata_table_building.first_instants import creates_partitions
from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.model.instant import Instant
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable

_LOG = logging.getLogger(__name__)


def remove_leftovers(table: MetadataTable, partitions: Collection[str]) -> None:
    """Delete the folders of partitions and the instants that created them, and all pending instants of builds.

    Call this under the table lock. The instants are deleted before the folders, because names of files in the folders
    contain the times of the instants.

    Args:
        partitions: partitions that the properties of the table do not list.
    """
    folders = {name: table.storage.list_folder(name).files for name in partitions}
    times = {instant_in_file_name(stored.name) for files in folders.values() for stored in files}
    store = table.timeline_store
    for instant in table.timeline:
        if not creates_partitions(instant):
            continue
        if instant.is_completed:
            if instant.requested_time not in times or _wrote_others(table, instant, partitions):
                continue
            store.remove_completed(instant)
        _LOG.info("Deleted instant %s of the metadata table, whose build died.", instant.requested_time)
        store.remove(instant)
    for name, files in folders.items():
        if files:
            table.storage.delete_folder(name)


def _wrote_others(table: MetadataTable, instant: Instant, partitions: Collection[str]) -> bool:
    """Whether an instant also created other partitions.

    Old releases of Hudi create several partitions with one instant.
    """
    return not table.commit_metadata(instant).partition_to_write_stats.keys() <= set(partitions)
