"""The positions of a stream: times at which commits of a table became visible."""

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.query import EARLIEST, HolesPolicy
from hudi_table_services.model.reading.stream import BatchLimits, CommitSize
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.reading import START_OFFSET
from hudi_table_services.planning.reading.batch_end import batch_end
from hudi_table_services.planning.reading.window import Window
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.reading.changed_slices import commits_in, end_before_holes
from hudi_table_services.tables.reading.points_in_time import window_bound

BEFORE_ALL_COMMITS = "00000000000000"
"""Position of a stream that has not returned any commit (HoodieTimeline.INIT_INSTANT_TS)."""

_LATEST = "latest"


def first_position(storage: Storage, start: str, holes: HolesPolicy) -> str:
    """Return the position at which a stream without checkpoint begins.

    Args:
        start: value of `START_OFFSET`.

    Raises:
        InvalidRequestError: `start` is neither a known word nor a point in time.
        TableNotFoundError, CorruptTableError, StorageError: the timeline cannot be read.
    """
    if start.lower() == _LATEST:
        return next_position(storage, BEFORE_ALL_COMMITS, BatchLimits(), holes)
    config = read_table_config(storage)
    try:
        return window_bound(start, config) or BEFORE_ALL_COMMITS
    except InvalidRequestError as error:
        raise InvalidRequestError(
            f"{START_OFFSET}={start} is not a point in time.",
            hint=f"Write {EARLIEST}, {_LATEST}, an instant time such as 20260102030405006, or a date and time.",
        ) from error


def next_position(
    storage: Storage, after: str, limits: BatchLimits, holes: HolesPolicy, *, at_most: str = ""
) -> str:
    """Return the end of the next batch: the position after its last commit; `after` if there is no newer commit.

    In a table without completion times, a position never passes a pending write.

    Args:
        after: position of the stream.
        at_most: the last position that the stream may reach; empty for no limit.

    Raises:
        InvalidRequestError: a write is pending although later writes have completed, and `holes` is FAIL.
        TableNotFoundError, CorruptTableError, UnsupportedTableError, StorageError: the timeline cannot be read.
    """
    config = read_table_config(storage)
    timeline = TimelineStore(storage, config, SystemClock()).load()
    snapshot = TableSnapshot(config=config, timeline=timeline)
    begin = window_bound(after, config)
    window, _ = end_before_holes(storage, snapshot, Window(after=begin, until=at_most), holes)
    if limits.are_set:
        writes = commits_in(storage, snapshot, window).writes
        sizes = [
            CommitSize(
                write.instant.visible_from, sum(stat.file_size_bytes for stat in write.metadata.write_stats)
            )
            for write in writes
        ]
        return batch_end(sizes, limits, after)
    # An archived write that completed late belongs to the batch of the next commit of the active timeline.
    return max((i.visible_from for i in timeline.completed_writes if window.contains(i)), default=after)
