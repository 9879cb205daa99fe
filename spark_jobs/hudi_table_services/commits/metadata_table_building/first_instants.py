"""Times of the instants that create partitions of a metadata table (HoodieTableMetadataUtil, Hudi 0.15 and 1.2)."""

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TimelineLayout
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.metadata_table.counted_instants import is_first_instant

_NO_WRITE = "0" * 14
_MAX_NUMBER = 999
_DIGITS = 3
_FIRST_NUMBER_OF_LAYOUT_1 = 10
_WRITE_DIGITS = 17


def first_instant_time(layout: TimelineLayout, data: Timeline, own: Timeline) -> str:
    """Time of the instant that creates the next partition.

    In layout 2, this is ``00000000000000000``, ``00000000000000001`` and so on. In layout 1, the time consists of the
    time of the newest completed instant of the table and three more digits, from 010 on. It begins with the time of
    that instant, because readers ignore log files of slices that are older than the write that the partition describes.

    Hudi takes the smallest unused time. This function takes a time that is greater than all used times. After the
    archival of the first instants, a smaller time would become the start of the timeline, and readers would ignore
    files of archived instants.

    Args:
        data: timeline of the table.
        own: timeline of the metadata table.

    Raises:
        UnsupportedTableError: all times are used.
    """
    start, number = _NO_WRITE, 0
    if layout is TimelineLayout.V1:
        start = max((i.requested_time for i in data.completed), default=_NO_WRITE)
        number = _FIRST_NUMBER_OF_LAYOUT_1
    used = [
        int(instant.requested_time[len(start) :])
        for instant in own
        if instant.requested_time.startswith(start) and len(instant.requested_time) == len(start) + _DIGITS
    ]
    next_number = max([number - 1, *used]) + 1
    if next_number > _MAX_NUMBER:
        raise UnsupportedTableError(
            f"The metadata table has used all instant times that begin with {start}.",
            hint="Build the whole metadata table.",
        )
    return f"{start}{next_number:03d}"


def creates_partitions(instant: Instant) -> bool:
    """Whether an instant of a metadata table created partitions, according to the form of its time."""
    time = instant.requested_time
    if instant.action is not Action.DELTA_COMMIT:
        return False
    if is_first_instant(time):
        return True
    return len(time) > _WRITE_DIGITS and int(time[_WRITE_DIGITS:]) >= _FIRST_NUMBER_OF_LAYOUT_1
