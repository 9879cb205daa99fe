"""Read the rows that were written since the last read, without gaps. Each read covers a window of commits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.instant_query import DESCRIBED_INSTANTS, SeenInstant, describe, oldest_visible
from airflow_hudi_provider.tables.connection import TableLocation
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.keys.archival import MIN_COMMITS

if TYPE_CHECKING:
    from pyarrow import Table

    from airflow_hudi_provider.hooks.hudi import HudiHook
    from hudi_table_services.model.archival import ArchivedWrite
    from hudi_table_services.storage.stores.storage import Storage
    from hudi_table_services.storage.timeline_store import TimelineStore
    from hudi_table_services.tables.reading.change_positions import ChainPosition
    from hudi_table_services.tables.reading.source_backlog import SourceBacklog


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


def incremental_window(
    store: "TimelineStore",
    after: str,
    archived: "Callable[[], Sequence[ArchivedWrite]]",
    *,
    has_completion_times: bool,
) -> IncrementalWindow:
    """Implement `HudiHook.incremental_window`."""
    timeline = store.load()
    _refuse_archived(timeline, after, archived)
    bound = _bound(timeline, has_completion_times=has_completion_times)
    ended = [i for i in timeline.completed_writes if after < i.visible_from < bound]
    if not ended:
        return IncrementalWindow(after=after, until=after)
    ended.sort(key=lambda i: (i.visible_from, i.requested_time))
    return IncrementalWindow(
        after=after,
        until=ended[-1].visible_from,
        count=len(ended),
        instants=tuple(describe(store, i) for i in ended[-DESCRIBED_INSTANTS:]),
    )


def change_positions(hook: "HudiHook") -> "tuple[ChainPosition, ...]":
    """Return how far loads with ``source_table`` have read the sources of a table, one position for each source.

    The attribute ``time`` of a position is a position of `HudiHook.incremental_window` of the source. Without a table,
    return ().
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


def _bound(timeline: Timeline, *, has_completion_times: bool) -> str:
    """Return the time at which the window must end, exclusive.

    With completion times, the window has no upper limit, because a pending write will become visible after all
    completed writes. Without completion times, a write becomes visible at its requested time, so the window must end
    before the oldest pending write.
    """
    pending = [i.requested_time for i in timeline.pending if i.action.writes_data]
    return min(pending) if pending and not has_completion_times else "9"


def _refuse_archived(
    timeline: Timeline, after: str, archived: "Callable[[], Sequence[ArchivedWrite]]"
) -> None:
    if not after or after >= oldest_visible(timeline):
        return
    missed = [each.instant for each in archived() if each.instant.visible_from > after]
    if missed:
        raise InvalidRequestError(
            f"The archive contains {counted(len(missed), 'commit')} after {after}; the latest is "
            f"{missed[-1].requested_time}. The rows that archived commits wrote cannot be distinguished from older "
            "rows.",
            hint="Read the whole table once, and continue from its newest commit. To keep commits longer on the "
            f"active timeline, raise {MIN_COMMITS}.",
        )


def read_incremental(
    location: TableLocation, storage: "Storage", window: IncrementalWindow, columns: Sequence[str] | None
) -> "Table":
    """Implement `HudiHook.read_incremental`."""
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
