"""Read the properties and the current state of a table, as one document."""

from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.planning.compaction.unmerged_logs import read_amplification
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.overview.partition_summaries import read_contents
from hudi_table_services.tables.pending_instants import load_pending
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.views.documents import InstantView, TableView
from hudi_table_services.tables.views.instant_details import describe_instant
from hudi_table_services.tables.views.live_files import exact_rows


def read_table_state(storage: Storage) -> TableView:
    """Read the overview of a table.

    Raises:
        TableNotFoundError: there is no table.
        CorruptTableError: the timeline, or the metadata of a commit, cannot be read.
    """
    contents = read_contents(storage)
    snapshot, totals = contents.snapshot, contents.totals
    config = snapshot.config
    table = TableAccess(storage=storage, clock=SystemClock(), config=config)
    return TableView(
        table_name=config.table_name,
        base_path=storage.uri,
        table_type=config.table_type.value,
        table_version=int(config.table_version),
        record_key=config.record_key_fields,
        partition_by=config.partition_fields,
        partition_time_format=config.partition_time_format,
        ordering_fields=config.ordering_fields,
        partition_count=len(snapshot.partitions),
        file_count=totals.file_count,
        size_bytes=totals.size_bytes,
        log_files=totals.log_files,
        log_bytes=totals.log_bytes,
        oldest_log=read_amplification(snapshot).oldest_log or "",
        row_count=exact_rows(totals),
        metadata_partitions=config.metadata_partitions,
        instant_count=len(snapshot.timeline),
        last_write=_last_write(table, snapshot),
        pending=load_pending(table, snapshot.timeline),
    )


def _last_write(table: TableAccess, snapshot: TableSnapshot) -> InstantView | None:
    newest = max(snapshot.timeline.completed_writes, key=lambda each: each.visible_from, default=None)
    if newest is None:
        return None
    return describe_instant(newest, table.timeline_store.commit_metadata(newest), snapshot.config)
