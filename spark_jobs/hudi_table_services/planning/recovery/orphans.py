"""Find the base files and log files that belong to no instant. If in doubt, a file counts as belonging to an instant.

A log file is an orphan only if no instant on the timeline wrote a block of the file. In table version 6, only the
blocks show their instants.

A file older than the active timeline counts as a file of an archived instant, unless the timeline shows that the
file's write was rolled back. When the rollback of the write is archived, too, readers treat the file as committed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.write_stat import WriteStat

ROLLED_BACK = "its write was rolled back"
NOT_NAMED = "its completed write does not name it"
DISPLACED = "a copy: its completed write names a file of this name in another folder, and that file exists"
NO_INSTANT = "its instant is not on the timeline"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownInstants:
    """Facts that decide whether files are orphans, all from one reading of the timeline.

    Attributes:
        first_write_time: requested time of the first write of the active timeline: an older file counts as a file of
            an archived instant. None if the timeline has no writes; then every file counts as a file of an archived
            instant.
        running: requested times of pending writes and services, and of writers with a fresh heartbeat.
        named: maps the requested time of each completed write to the paths of the files in its metadata.
        undone: requested times of writes that a rollback or a restore undid.
        permanently_undone: the `undone` writes that no job can execute again. A job can execute a rolled-back
            clustering again.
        needed: names of files in savepoints and pending plans.
        needed_paths: paths of the `needed` files, relative to the base path.
        archived: requested times of archived writes later than `first_write_time`. There are such writes if archival
            kept an older commit active because of a savepoint that has since been deleted.
        archived_named: like `named`, for archived writes; empty if the archive was not read.
        log_writers: maps the path of each log file that can be an orphan to the instants that wrote its blocks. Other
            log files belong to an instant.
    """

    first_write_time: str | None
    running: frozenset[str]
    named: Mapping[str, frozenset[str]]
    undone: frozenset[str]
    permanently_undone: frozenset[str]
    needed: frozenset[str]
    archived: frozenset[str] = frozenset()
    needed_paths: frozenset[str] = frozenset()
    archived_named: Mapping[str, frozenset[str]] = field(default_factory=dict)
    log_writers: Mapping[str, frozenset[str]] = field(default_factory=dict)


def orphan_reason(path: str, known: KnownInstants) -> str:
    """Return the reason why a file belongs to no instant; empty if it belongs to an instant or is not a data file.

    If the reason is `DISPLACED`, the caller has to check with `is_copy` that the file at the path in the metadata is
    complete.
    """
    name = _name(path)
    if path in known.log_writers:
        return _reason_of_log(path, known)
    time = _time(name)
    if time is None or time in known.running or path in known.needed_paths:
        return ""
    if named_elsewhere(path, known.named, known.archived_named):
        return DISPLACED
    if name in known.needed:
        return ""
    if time in known.named:
        return "" if path in known.named[time] else NOT_NAMED
    return _reason_of_time(time, known)


def _reason_of_log(path: str, known: KnownInstants) -> str:
    if path in known.needed_paths or _name(path) in known.needed:
        return ""
    times = known.log_writers[path]
    if any(time in known.running or time in known.named for time in times):
        return ""
    reasons = {_reason_of_time(time, known) for time in times}
    return "" if not reasons or "" in reasons else min(reasons)


def _reason_of_time(time: str, known: KnownInstants) -> str:
    """Return why a file is an orphan, if its write is neither running nor completed on the active timeline."""
    if known.first_write_time is None or time < known.first_write_time:
        return ROLLED_BACK if time in known.permanently_undone else ""
    if time in known.undone:
        return ROLLED_BACK
    return "" if time in known.archived else NO_INSTANT


def named_elsewhere(path: str, *named: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the other paths at which, according to the file's completed write, a base file of this name exists.

    The result is empty if the write names this path, or names no file of this name.

    Args:
        named: mappings from the requested time of completed writes to the paths of the files in their metadata.
    """
    name = _name(path)
    time = _time(name) or ""
    paths = next((each[time] for each in named if time in each), frozenset())
    if path in paths:
        return frozenset()
    return frozenset(other for other in paths if _name(other) == name)


def is_copy(size_bytes: int, places: Collection[str], size_at: Callable[[str], int | None]) -> bool:
    """Whether a file is as long as a file at one of the paths in its write's metadata.

    If the lengths differ, the file may be the only complete file: it may be the moved original, or a copy that was made
    before the original was damaged.

    Args:
        places: paths from `named_elsewhere`.
        size_at: returns the length of the file at a path; None if there is no file.
    """
    return any(size_at(place) == size_bytes for place in places)


def doubled_times(paths: Iterable[str]) -> frozenset[str]:
    """Return the instant times of base files whose names exist in more than one folder."""
    seen: set[str] = set()
    doubled: set[str] = set()
    for path in paths:
        name = _name(path)
        (doubled if name in seen else seen).add(name)
    return frozenset(time for name in doubled if (time := _time(name)) is not None)


def named_paths(stats: Collection[WriteStat]) -> frozenset[str]:
    """Return the paths of the files that a write names.

    If the path in a write stat is not in the stat's partition path, the result has the file in each of the two folders.
    """
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
