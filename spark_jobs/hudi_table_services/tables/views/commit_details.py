"""Read one instant in detail, from the active timeline or from the archive."""

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import SCHEMA_KEY, CommitMetadata
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.pending_instants import load_pending
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.undo_history import undo_of, undone_by
from hudi_table_services.tables.views.documents import CommitPartition, CommitView
from hudi_table_services.tables.views.instant_details import describe_instant, describe_service


def read_commit(storage: Storage, instant_time: str) -> CommitView:
    """Read the instant with this requested time. The archive contains only writes.

    Raises:
        TableNotFoundError: there is no table.
        InvalidRequestError: neither the active timeline nor the archive contains the instant, or it was undone.
        CorruptTableError: the timeline, the metadata of the commit or the archive cannot be read.
        UnsupportedTableError: the archive is Parquet, and pyarrow is not installed.
    """
    table = TableAccess(storage=storage, clock=SystemClock(), config=read_table_config(storage))
    timeline = table.load_timeline()
    # A savepoint has the requested time of its commit.
    found = sorted(timeline.find(instant_time), key=lambda each: not each.action.writes_data)
    if found:
        return _active(table, found[0])
    for write in ArchivedTimeline(storage, table.config).writes():
        if write.instant.requested_time == instant_time:
            return _written(table, write.instant, write.metadata, is_archived=True)
    undone = undone_by(table, timeline)
    if (by := undone.get(instant_time)) is not None:
        reasons = [undo_of(table, each).reason for each in timeline.find(by)]
        why = next((f": {reason}" for reason in reasons if reason), "")
        raise InvalidRequestError(
            f"Instant {instant_time} was undone by {by}{why}.",
            hint=f"The newest writes are {timeline.newest_writes()}.",
        )
    raise InvalidRequestError(
        f"The table {table.config.table_name!r} has no instant {instant_time}.",
        hint=f"The newest writes are {timeline.newest_writes()}.",
    )


def _active(table: TableAccess, instant: Instant) -> CommitView:
    if instant.is_completed and instant.action.writes_data:
        return _written(table, instant, table.timeline_store.commit_metadata(instant), is_archived=False)
    pending = () if instant.is_completed else load_pending(table, Timeline((instant,)))
    return CommitView(
        table_name=table.config.table_name,
        instant=describe_instant(instant, None, table.config)
        if instant.action.writes_data
        else describe_service(table, instant),
        pending=pending[0] if pending else None,
    )


def _written(
    table: TableAccess, instant: Instant, metadata: CommitMetadata, *, is_archived: bool
) -> CommitView:
    replaced = metadata.partition_to_replace_file_ids or {}
    paths = sorted({*metadata.partition_to_write_stats, *replaced})
    return CommitView(
        table_name=table.config.table_name,
        instant=describe_instant(instant, metadata, table.config),
        is_archived=is_archived,
        partitions=tuple(_partition(path, metadata, len(replaced.get(path, ()))) for path in paths),
        extra_metadata={key: value for key, value in metadata.extra_metadata.items() if key != SCHEMA_KEY},
    )


def _partition(path: str, metadata: CommitMetadata, files_replaced: int) -> CommitPartition:
    stats = metadata.partition_to_write_stats.get(path, ())
    return CommitPartition(
        partition_path=path,
        rows_inserted=sum(each.num_inserts for each in stats),
        rows_updated=sum(each.num_update_writes for each in stats),
        rows_deleted=sum(each.num_deletes for each in stats),
        files_written=len(stats),
        bytes_written=sum(each.file_size_bytes for each in stats),
        files_replaced=files_replaced,
    )
