"""Read the rows that were written since the last read, without gaps. Each read covers a window of commits."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.instant_query import DESCRIBED_INSTANTS, SeenInstant, describe, seen_instant
from hudi_table_services.contract.request import check_instants, refuse_text_for_lists
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.reading.query import EARLIEST, QueryType
from hudi_table_services.options.keys.reading import BEGIN, END, QUERY_TYPE

if TYPE_CHECKING:
    from pyarrow import Table

    from airflow_hudi_provider.hooks.hudi import HudiHook
    from hudi_table_services.model.archival import ArchivedWrite
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
        after: start of the window, exclusive. If empty, the window starts with the first commit of the table.
        until: end of the window, inclusive. Use this time as ``after`` of the next window. ``until`` equals ``after``
            if there are no new commits.
        count: number of commits. If `after` is empty, archived commits do not count, although their rows are read.
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
    window, _ = end_before_holes(storage, snapshot, Window(after=after), HolesPolicy.BLOCK)
    archived = {write.instant: write.metadata for write in _archived(storage, snapshot, window)}
    active = [i for i in snapshot.timeline.completed_writes if window.contains(i)]
    ended = sorted((*archived, *active), key=lambda i: (i.visible_from, i.requested_time))
    if not ended:
        return IncrementalWindow(after=after, until=after)
    return IncrementalWindow(
        after=after,
        until=ended[-1].visible_from,
        count=len(ended),
        instants=tuple(
            seen_instant(i, archived[i]) if i in archived else describe(store, i)
            for i in ended[-DESCRIBED_INSTANTS:]
        ),
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


def _archived(storage: "Storage", snapshot: "TableSnapshot", window: "Window") -> "Sequence[ArchivedWrite]":
    from hudi_table_services.tables.reading.changed_slices import archived_in

    try:
        return archived_in(storage, snapshot, window)
    except UnsupportedTableError as error:
        _LOG.warning("The archive was not searched for commits of the window: %s", error)
        return ()


def read_incremental(
    storage: "Storage",
    window: IncrementalWindow,
    columns: Sequence[str] | None,
    hudi_options: Mapping[str, str],
) -> "Table":
    """Implement `HudiHook.read_incremental`."""
    if columns is not None:
        refuse_text_for_lists(columns=columns)
    try:
        import pyarrow as pa

        from hudi_table_services.tables.reading.planned_reads import plan_read, rows_of_scan, slice_reader
    except ModuleNotFoundError as error:
        raise HudiTaskRefusedError(
            f"The package {error.name}, which reads the rows, is not installed. Run: pip install "
            "'airflow-provider-hudi[engine]'."
        ) from error
    if window.is_empty:
        return pa.table({})
    bounds = {
        QUERY_TYPE.key: QueryType.INCREMENTAL.value,
        BEGIN.key: window.after if window.after.strip("0") else EARLIEST,
        END.key: window.until,
    }
    scan = plan_read(storage, {**hudi_options, **bounds}, columns=columns)
    found = list(rows_of_scan(storage, scan))
    return pa.concat_tables(found) if found else slice_reader(storage, scan).columns.empty_table()
