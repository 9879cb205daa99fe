"""Find the instants whose blocks in a metadata table's log files are valid, from the timelines of both tables.

A write completes in the metadata table before it completes in the table. Until the write completes in the table, which
never happens if the writer dies in between, readers must ignore the records of the write in the metadata table
(HoodieTableMetadataUtil.getValidInstantTimestamps, Hudi 0.15 and 1.2).
"""

from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline

_WRITE_DIGITS = 17
_FIRST_INSTANTS = "0" * 14
_BUILD_DIGITS = 20
_FIRST_BUILD_NUMBER = 10


def counted_instants(data: Timeline, own: Timeline, *, has_own_log_instants: bool) -> frozenset[str]:
    """Return the instant times whose blocks are valid unless a rollback block cancels them.

    These are the completed instants on the active timeline of the table, the completed rollbacks and restores of the
    metadata table, and some completed delta commits of the metadata table. In table version 6, these are the delta
    commits that no instant of the table caused. From version 8 on, these are all delta commits whose instant is not
    pending in the table. Blocks of pending instants of the metadata table are not valid.

    Args:
        data: timeline of the table.
        own: timeline of the metadata table, loaded after `data`.
        has_own_log_instants: whether the table version is 8 or later.
    """
    pending = {i.requested_time for i in data.pending}
    counted = {i.requested_time for i in data.completed}
    for instant in own.completed:
        time = instant.requested_time
        if instant.action is Action.DELTA_COMMIT:
            counts = time not in pending if has_own_log_instants else is_own_instant(time)
        else:
            counts = instant.action in (Action.ROLLBACK, Action.RESTORE)
        if counts:
            counted.add(time)
    return frozenset(counted - {i.requested_time for i in own.pending})


def is_own_instant(instant_time: str) -> bool:
    """Whether the time of an instant of a metadata table shows that no instant of the table has this time.

    The times of the first instants of a metadata table are small numbers. In table version 6, the time of a later
    instant that no instant of the table caused has three more digits than the times of the table's instants.
    """
    return len(instant_time) > _WRITE_DIGITS or is_first_instant(instant_time)


def is_build_instant(instant_time: str) -> bool:
    """Whether the instant created a partition of a metadata table, in any table version.

    In table version 6, if the table had writes, the times of these instants have a suffix of 010 or more. Smaller
    suffixes belong to table services and rollbacks of the metadata table.
    """
    if len(instant_time) == _BUILD_DIGITS and int(instant_time[_WRITE_DIGITS:]) >= _FIRST_BUILD_NUMBER:
        return True
    return is_first_instant(instant_time)


def is_first_instant(instant_time: str) -> bool:
    """Whether the instant created a partition of a metadata table, e.g. ``00000000000000010``."""
    return instant_time.startswith(_FIRST_INSTANTS)


def delta_commits_of_table(own: Timeline) -> tuple[Instant, ...]:
    """Return the completed delta commits of the metadata table that instants of the table caused.

    From table version 8 on, the result includes the delta commit that repairs the metadata table after a restore,
    although its requested time is not that of an instant of the table.
    """
    return tuple(
        i for i in own.completed if i.action is Action.DELTA_COMMIT and not is_own_instant(i.requested_time)
    )
