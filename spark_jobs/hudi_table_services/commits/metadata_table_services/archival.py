"""Archive the timeline of the metadata table, in the same format as the archive of the table."""

import logging

from hudi_table_services.commits.archive_writing import archive_writer
from hudi_table_services.commits.metadata_table_services.opened_services import OpenedServices
from hudi_table_services.model.archival import ArchivalOptions
from hudi_table_services.planning.metadata_table.upkeep import MetadataArchivalPlan

_LOG = logging.getLogger(__name__)


def archive(services: OpenedServices, plan: MetadataArchivalPlan, options: ArchivalOptions) -> None:
    """Write the instants of a plan into the archive, then delete them from the active timeline.

    Instants that a dead archival has already written are only deleted.

    Raises:
        UnsupportedTableError: the archive is Parquet, and pyarrow is not installed.
        HudiTableServiceError: instants may be in the archive and on the active timeline; the next archival
            deletes them.
    """
    table = services.own_table
    writer = archive_writer(table, options)
    archived = writer.already_archived(services.metadata.timeline)
    missing = [instant for instant in plan.instants if instant.identity not in archived]
    services.verify_lock()
    if missing:
        writer.write(missing)
    services.verify_lock()
    table.timeline_store.remove_archived(plan.instants)
    services.verify_lock()
    writer.maintain()
    _LOG.info("Archived %d instants of the metadata table: %s", len(plan.instants), plan.reason)
