"""Describe instants of the timeline with the numbers in their commit metadata."""

from dataclasses import replace

from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.write_stat import CommitMetadata, request_ids_in
from hudi_table_services.planning.file_size_history import write_summary
from hudi_table_services.storage.clock import instant_moment
from hudi_table_services.tables.instant_requests import request_id_of
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.undo_history import undo_of
from hudi_table_services.tables.views.documents import InstantView


def describe_instant(instant: Instant, metadata: CommitMetadata | None, config: TableConfig) -> InstantView:
    """Describe an instant; `metadata` is the content of a completed write, None for other instants."""
    view = InstantView(
        instant_time=instant.requested_time,
        action=instant.action.value,
        state=instant.state.value,
        requested_at=iso_time(instant.requested_time, config),
        completed_at=iso_time(instant.completion_time or "", config),
    )
    return view if metadata is None else _with_numbers(view, instant, metadata)


def describe_service(table: TableAccess, instant: Instant) -> InstantView:
    """Describe an instant that writes no data, with its request and, for a rollback or a restore, with its effect."""
    undo = undo_of(table, instant)
    return replace(
        describe_instant(instant, None, table.config),
        request_id=request_id_of(table.timeline_store, instant),
        undone=undo.undone,
        undo_reason=undo.reason,
    )


def _with_numbers(view: InstantView, instant: Instant, metadata: CommitMetadata) -> InstantView:
    write = write_summary(instant, metadata)
    return replace(
        view,
        operation=write.operation.value.lower(),
        request_id=next(iter(request_ids_in(write.extra_metadata)), ""),
        rows_inserted=write.rows_inserted,
        rows_updated=write.rows_updated,
        rows_deleted=write.rows_deleted,
        files_written=write.files_written,
        bytes_written=write.bytes_written,
        files_replaced=write.files_replaced,
        partition_count=len(write.partitions),
    )


def iso_time(instant_time: str, config: TableConfig) -> str:
    """Convert an instant time to ISO 8601 in UTC; return an empty string if its digits are not a date."""
    moment = instant_moment(instant_time, config) if instant_time else None
    return moment.isoformat(timespec="milliseconds") if moment else ""
