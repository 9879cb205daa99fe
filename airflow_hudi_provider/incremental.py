"""Read the rows that were written since the last read, without gaps. Each read covers a window of commits."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.instant_query import DESCRIBED_INSTANTS, SeenInstant, describe
from airflow_hudi_provider.tables.connection import TableLocation
from hudi_table_services.contract.request import check_instants, refuse_text_for_lists
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.options.keys.archival import MIN_COMMITS

if TYPE_CHECKING:
    from pyarrow import Table

    from airflow_hudi_provider.hooks.hudi import HudiHook
    from hudi_table_services.model.table_config import TableConfig
    from hudi_table_services.model.table_snapshot import TableSnapshot
    from hudi_table_services.planning.reading.window import Window
    from hudi_table_services.storage.stores.storage import Storage
    from hudi_table_services.tables.reading.change_positions import ChainPosition
    from hudi_table_services.tables.reading.source_backlog import SourceBacklog

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalWindow:
    """A range of commits that are read together.

    ``after`` and ``until`` are times at which commits became visible: completion times from table version 8 on,
    requested times in earlier versions.

    Attributes:
        after: start of the window, exclusive. If empty, the window starts at the beginning of the active timeline.
        until: end of the window, inclusive. Use this time as ``after`` of the next window. ``until`` equals ``after``
            if there are no new commits.
        count: number of commits.
        instants: descriptions of the latest commits, oldest first.
    """

    after: str
    until: str
    count: int = 0
    instants: tuple[SeenInstant, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.count == 0


def incremental_window(storage: "Storage", config: "TableConfig", after: str) -> IncrementalWindow:
    """Implement `HudiHook.incremental_window`. The window has the same rules as those of loads and streams."""
    from hudi_table_services.model.reading.query import HolesPolicy
    from hudi_table_services.model.table_snapshot import TableSnapshot
    from hudi_table_services.planning.reading.window import Window
    from hudi_table_services.storage.clock import SystemClock
    from hudi_table_services.storage.timeline_store import TimelineStore
    from hudi_table_services.tables.reading.changed_slices import end_before_holes

    if after.strip("0"):
        _check_position(after)
    store = TimelineStore(storage, config, SystemClock())
    snapshot = TableSnapshot(config=config, timeline=store.load())
    _refuse_archived(storage, snapshot, Window(after=after))
    window, _ = end_before_holes(storage, snapshot, Window(after=after), HolesPolicy.BLOCK)
    ended = [i for i in snapshot.timeline.completed_writes if window.contains(i)]
    if not ended:
        return IncrementalWindow(after=after, until=after)
    ended.sort(key=lambda i: (i.visible_from, i.requested_time))
    return IncrementalWindow(
        after=after,
        until=ended[-1].visible_from,
        count=len(ended),
        instants=tuple(describe(store, i) for i in ended[-DESCRIBED_INSTANTS:]),
    )


def _check_position(after: str) -> None:
    try:
        check_instants((after,))
    except InvalidRequestError as error:
        raise InvalidRequestError(
            error.message,
            hint=f"Give `until` of an earlier window, or convert a date and time: hook.instant_time_of({after!r}).",
        ) from None


def change_positions(hook: "HudiHook") -> "tuple[ChainPosition, ...]":
    """Return how far loads with ``source_table`` have read the sources of a table, one position for each source.

    To get the commits of the source after a position, pass the attribute ``time`` of the position to
    `HudiHook.incremental_window` of the source, as ``after``. If there is no table, return ().
    """
    from hudi_table_services.storage.clock import SystemClock
    from hudi_table_services.tables.reading.change_positions import newest_positions
    from hudi_table_services.tables.table import TableAccess

    config = hook.find_table_config()
    if config is None:
        return ()
    return newest_positions(TableAccess(storage=hook.storage, clock=SystemClock(), config=config))


def change_backlog(hook: "HudiHook", position: str) -> "SourceBacklog":
    """Return how many commits and rows of a table are after a position. Raises TableNotFoundError."""
    from hudi_table_services.storage.clock import SystemClock
    from hudi_table_services.tables.reading.source_backlog import source_backlog
    from hudi_table_services.tables.table import TableAccess

    table = TableAccess(storage=hook.storage, clock=SystemClock(), config=hook.table_config())
    return source_backlog(table, position)


def _refuse_archived(storage: "Storage", snapshot: "TableSnapshot", window: "Window") -> None:
    from hudi_table_services.tables.reading.changed_slices import archived_in

    try:
        missed = archived_in(storage, snapshot, window)
    except UnsupportedTableError as error:
        _LOG.warning("The archive was not searched for commits of the window: %s", error)
        return
    if missed:
        latest = max(missed, key=lambda each: each.instant.visible_from).instant
        raise InvalidRequestError(
            f"The archive contains {counted(len(missed), 'commit')} after {window.after}; the latest is "
            f"{latest.requested_time}. The rows that archived commits wrote cannot be distinguished from older rows.",
            hint="Read the whole table once, and continue from its newest commit. To keep commits longer on the "
            f"active timeline, raise {MIN_COMMITS}.",
        )


def read_incremental(
    location: TableLocation, storage: "Storage", window: IncrementalWindow, columns: Sequence[str] | None
) -> "Table":
    """Implement `HudiHook.read_incremental`."""
    if columns is not None:
        refuse_text_for_lists(columns=columns)
    try:
        from hudi import HudiQueryType, HudiReadOptions, HudiTable
    except ImportError:
        raise HudiTaskRefusedError(
            "The package hudi (hudi-rs), which reads the rows, is not installed. Run: pip install "
            "'airflow-provider-hudi[incremental]'."
        ) from None
    import pyarrow as pa

    table = HudiTable(location.base_path, dict(location.storage_options))
    options = (
        HudiReadOptions()
        .with_query_type(HudiQueryType.Incremental)
        .with_start_timestamp(window.after or "0")
        .with_end_timestamp(window.until)
    )
    if columns is not None:
        options = options.with_projection(list(columns))
    try:
        batches = [pa.record_batch(batch) for batch in table.read(options)]
    except Exception as failure:
        from hudi_table_services.tables.cleaned_files import lost_file_in

        lost = lost_file_in(storage, str(failure)) if ".parquet" in str(failure) else None
        if lost is not None:
            raise lost from failure
        raise
    return pa.Table.from_batches(batches) if batches else pa.table({})
