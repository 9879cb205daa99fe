"""Which base files belong to no instant, as a pure rule. In doubt a file belongs.

What is older than the active timeline counts as archived, so it belongs, unless the timeline itself says that its
write was undone: once that is archived as well, readers take such a file for committed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.write_stat import WriteStat

ROLLED_BACK = "its write was undone"
NOT_NAMED = "its completed write does not name it"
DISPLACED = "a copy: its completed write names it in another folder, where it is"
NO_INSTANT = "its instant is not on the timeline"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownInstants:
    """What decides about files at one look at the timeline.

    Attributes:
        first_write_time: from here on nothing is archived; None: no writes at all, so nothing can be told.
        running: requested times of pending writes and services, and of writers with a living heartbeat.
        named: requested time of completed writes → paths of the files in their metadata.
        undone: requested times of writes that a rollback or a restore undid.
        undone_for_good: those of them that cannot have been executed again since, as clusterings can.
        needed: names of files in savepoints and pending plans.
        needed_paths: their paths, below the base path.
        archived: requested times of archived writes later than `first_write_time`; there are some where a commit was
            left behind alone by archival, because of a savepoint that is gone.
        archived_named: as `named`, of archived writes; empty: the archive was not read.
    """

    first_write_time: str | None
    running: frozenset[str]
    named: Mapping[str, frozenset[str]]
    undone: frozenset[str]
    undone_for_good: frozenset[str]
    needed: frozenset[str]
    archived: frozenset[str] = frozenset()
    needed_paths: frozenset[str] = frozenset()
    archived_named: Mapping[str, frozenset[str]] = field(default_factory=dict)


def orphan_reason(path: str, known: KnownInstants) -> str:
    """Why a file belongs to no instant; empty: it belongs to one, or is no base file.

    `DISPLACED` holds only if the file is whole where it is named, which storage has to tell: see `is_copy`.
    """
    name = _name(path)
    time = _time(name)
    if time is None or time in known.running or path in known.needed_paths:
        return ""
    if named_elsewhere(path, known.named, known.archived_named):
        return DISPLACED
    if name in known.needed:
        return ""
    if time in known.named:
        return "" if path in known.named[time] else NOT_NAMED
    if known.first_write_time is None or time < known.first_write_time:
        return ROLLED_BACK if time in known.undone_for_good else ""
    if time in known.undone:
        return ROLLED_BACK
    return "" if time in known.archived else NO_INSTANT


def named_elsewhere(path: str, *named: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Paths under which its completed write names a base file of this name; empty: here, or nowhere.

    Args:
        named: each requested time of completed writes → paths of the files in their metadata.
    """
    name = _name(path)
    time = _time(name) or ""
    places = next((each[time] for each in named if time in each), frozenset())
    if path in places:
        return frozenset()
    return frozenset(place for place in places if _name(place) == name)


def is_copy(size_bytes: int, places: Collection[str], size_at: Callable[[str], int | None]) -> bool:
    """Whether a file is as long as what lies at one of the places where its write names it.

    Otherwise it may be the only whole one: somebody moved it, or copied it before the other one was damaged.

    Args:
        places: see `named_elsewhere`.
        size_at: length of the file of a path on storage; None: there is none.
    """
    return any(size_at(place) == size_bytes for place in places)


def doubled_times(paths: Iterable[str]) -> frozenset[str]:
    """Instant times of the base files whose name is in more than one folder."""
    seen: set[str] = set()
    doubled: set[str] = set()
    for path in paths:
        name = _name(path)
        (doubled if name in seen else seen).add(name)
    return frozenset(time for name in doubled if (time := _time(name)) is not None)


def named_paths(stats: Collection[WriteStat]) -> frozenset[str]:
    """Paths of the files that a write names. A path that is spelled unlike its partition counts in both spellings."""
    found: set[str] = set()
    for stat in stats:
        folder, name = stat.partition_path.strip("/"), _name(stat.path)
        if name:
            found |= {stat.path.lstrip("/"), f"{folder}/{name}" if folder else name}
    return frozenset(found)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _time(name: str) -> str | None:
    try:
        return BaseFile.from_file_name(name).instant_time
    except MalformedFileNameError:
        return None
