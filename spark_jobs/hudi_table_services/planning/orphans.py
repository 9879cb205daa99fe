"""Which base files belong to no instant, as a pure rule. In doubt a file belongs.

What is older than the active timeline counts as archived, so it belongs, unless the timeline itself says that its
write was undone: once that is archived as well, readers take such a file for committed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.model.data_file import BaseFile

ROLLED_BACK = "its write was undone"
NOT_NAMED = "its completed write does not name it"
NO_INSTANT = "its instant is not on the timeline"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownInstants:
    """What decides about files at one look at the timeline.

    Attributes:
        first_write_time: from here on nothing is archived; None: no writes at all, so nothing can be told.
        running: requested times of pending writes and services, and of writers with a living heartbeat.
        named: requested time of completed writes → names of the files in their metadata.
        undone: requested times of writes that a rollback or a restore undid.
        undone_for_good: those of them that cannot have been executed again since, as clusterings can.
        needed: names of files in savepoints and pending plans.
        archived: requested times of archived writes later than `first_write_time`; there are some where a commit was
            left behind alone by archival, because of a savepoint that is gone.
    """

    first_write_time: str | None
    running: frozenset[str]
    named: Mapping[str, frozenset[str]]
    undone: frozenset[str]
    undone_for_good: frozenset[str]
    needed: frozenset[str]
    archived: frozenset[str] = frozenset()


def orphan_reason(file_name: str, known: KnownInstants) -> str:
    """Why a file belongs to no instant; empty: it belongs to one, or is no base file."""
    try:
        time = BaseFile.from_file_name(file_name).instant_time
    except MalformedFileNameError:
        return ""
    if time in known.running or file_name in known.needed:
        return ""
    if time in known.named:
        return "" if file_name in known.named[time] else NOT_NAMED
    if known.first_write_time is None or time < known.first_write_time:
        return ROLLED_BACK if time in known.undone_for_good else ""
    if time in known.undone:
        return ROLLED_BACK
    return "" if time in known.archived else NO_INSTANT
