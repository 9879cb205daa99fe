"""Group the files of a partition into the latest visible slices (AbstractTableFileSystemView, Hudi 1.2)."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from hudi_table_services.model.data_file import BASE_FILE_EXTENSIONS, BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.stores.storage import StoredObject

_INSTANT_TIME = re.compile(r"\d{14,23}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """The instants whose files readers see.

    Attributes:
        completed: maps the requested time of each completed write to the time from which the write is visible.
        first_write_time: the result of `first_write_time`. Earlier writes are archived, and archived writes are
            complete.
        pending_compactions: requested times of pending compactions. In table version 6, names of later log files
            contain these times.
        has_own_log_instants: whether the name of a log file contains the time of the delta commit that wrote the file
            (table version 8 and later).
        as_of: latest requested time that readers see, as for a time-travel query of Hudi; None for no limit. With a
            limit, `completed` and `pending_compactions` contain no later times.
    """

    completed: Mapping[str, str]
    first_write_time: str | None
    pending_compactions: frozenset[str]
    has_own_log_instants: bool
    as_of: str | None = None

    @classmethod
    def of(cls, timeline: Timeline, *, has_own_log_instants: bool, as_of: str | None = None) -> "Visibility":
        seen = timeline if as_of is None else timeline.until(as_of)
        return cls(
            completed={i.requested_time: i.visible_from for i in seen.completed_writes},
            first_write_time=first_write_time(timeline),
            pending_compactions=frozenset(
                i.requested_time for i in seen.pending if i.action is Action.COMPACTION
            ),
            has_own_log_instants=has_own_log_instants,
            as_of=as_of,
        )

    def sees(self, instant_time: str) -> bool:
        if instant_time in self.completed:
            return True
        if self.as_of is not None and instant_time > self.as_of:
            return False
        first = self.first_write_time
        return (
            first is not None and instant_time < first and _INSTANT_TIME.fullmatch(instant_time) is not None
        )

    def visible_from(self, instant_time: str) -> str:
        """Return the completion time if the active timeline or `knowing` provides it; otherwise the requested time."""
        return self.completed.get(instant_time, instant_time)

    def knowing(self, completions: Mapping[str, str]) -> "Visibility":
        """Add the completion times of archived instants."""
        return replace(self, completed={**completions, **self.completed})


def visibility_of(snapshot: TableSnapshot) -> Visibility:
    """The instants whose files readers of a snapshot see."""
    has_own = snapshot.config.table_version.has_own_log_instants
    return Visibility.of(snapshot.timeline, has_own_log_instants=has_own, as_of=snapshot.as_of)


def first_write_time(timeline: Timeline) -> str | None:
    """Return the requested time of the first write without a savepoint, or of the first write if all have savepoints.

    Pending writes count, because archival stops at a pending write. Commits with savepoints do not count, because
    archival can keep a commit with a savepoint and archive later writes. Other actions do not count, because archival
    archives them independently of writes.
    """
    savepoints = {i.requested_time for i in timeline.completed if i.action is Action.SAVEPOINT}
    writes = [i.requested_time for i in timeline if i.action.writes_data]
    return min((time for time in writes if time not in savepoints), default=min(writes, default=None))


def archived_log_instants(files: Iterable[StoredObject], visibility: Visibility) -> frozenset[str]:
    """Return the archived delta commits whose completion times decide to which slices their log files belong.

    Such a delta commit was requested before the newest visible base file of a file group, and wrote a log file of this
    file group.

    Args:
        files: files of one partition. The names of its log files must contain the time of their delta commit.
    """
    files = tuple(files)
    if visibility.completed.keys() >= _instants_of_logs(files):
        return frozenset()  # the usual case; `_by_file_id` takes much longer than this check
    bases, logs = _by_file_id(files, visibility)
    return frozenset(
        log.instant_time
        for file_id, found in logs.items()
        if file_id in bases
        for log in found
        if log.instant_time < bases[file_id].instant_time
        and log.instant_time not in visibility.completed
        and visibility.sees(log.instant_time)
    )


def _instants_of_logs(files: Iterable[StoredObject]) -> set[str]:
    """Return the instants in the names of log files. Other files with ``.log.`` add strings that are no instants."""
    parts = (stored.path.rpartition(".log.") for stored in files)
    return {before.rpartition("_")[2] for before, found, _ in parts if found}


PickFile = Callable[[str, Collection[BaseFile]], BaseFile]
"""Choose one of the base files that a file group has for one instant. Retried tasks can leave more than one."""


def latest_slices(
    partition_path: str,
    files: Iterable[StoredObject],
    visibility: Visibility,
    replaced: Collection[str],
    pick: PickFile,
) -> tuple[FileSlice, ...]:
    """Return the latest visible slice of each file group, sorted by file id.

    Args:
        replaced: ids of the partition's file groups that were replaced by completed replace commits.
    """
    bases, logs = _by_file_id(files, visibility)
    slices = []
    for file_id in sorted((bases.keys() | logs.keys()).difference(replaced)):
        group_id = FileGroupId(partition_path, file_id)
        base = _base_file(partition_path, bases[file_id], pick) if file_id in bases else None
        latest = _with_logs(group_id, base, logs.get(file_id, []), visibility)
        if latest is not None:
            slices.append(latest)
    return tuple(slices)


@dataclass(slots=True)
class _Candidates:
    """Base files of one file group that belong to the newest instant found so far: their names and sizes in bytes."""

    instant_time: str
    files: list[tuple[str, int]]


def _by_file_id(
    files: Iterable[StoredObject], visibility: Visibility
) -> tuple[dict[str, _Candidates], dict[str, list[LogFile]]]:
    """Find the newest visible base files and all log files of each file group.

    For speed, each path is split only once, and file names are split with `str.partition`.
    """
    bases: dict[str, _Candidates] = {}
    logs: dict[str, list[LogFile]] = defaultdict(list)
    completed = visibility.completed
    for path, size_bytes, _ in files:
        name = path.rpartition("/")[2]
        if name[:1] == ".":
            if ".log." in name:
                _add_log(logs, name, size_bytes)
            continue
        file_id, _, rest = name.partition("_")
        instant_time, dot, extension = rest.partition("_")[2].partition(".")
        if dot + extension not in BASE_FILE_EXTENSIONS:
            continue
        if instant_time not in completed and not visibility.sees(instant_time):
            continue
        best = bases.get(file_id)
        if best is None or instant_time > best.instant_time:
            bases[file_id] = _Candidates(instant_time, [(name, size_bytes)])
        elif instant_time == best.instant_time:
            best.files.append((name, size_bytes))
    return bases, logs


def _add_log(logs: dict[str, list[LogFile]], name: str, size_bytes: int) -> None:
    log = LogFile.parse_or_none(name, size_bytes)
    if log is not None and not log.is_cdc:
        logs[log.file_id].append(log)


def _base_file(partition_path: str, candidates: _Candidates, pick: PickFile) -> BaseFile:
    parsed = [BaseFile.from_file_name(name, size_bytes) for name, size_bytes in candidates.files]
    return parsed[0] if len(parsed) == 1 else pick(partition_path, parsed)


def _with_logs(
    group_id: FileGroupId, base: BaseFile | None, logs: list[LogFile], visibility: Visibility
) -> FileSlice | None:
    """Return the latest slice; None if no file of the file group is visible."""
    if not logs and base is not None:
        return FileSlice(file_group_id=group_id, base_instant_time=base.instant_time, base_file=base)
    if visibility.has_own_log_instants:
        base_time, kept = _logs_by_completion(base, logs, visibility)
    else:
        base_time, kept = _logs_by_name(base, logs, visibility)
    if base is None and not kept:
        return None
    if base is not None and base.instant_time != base_time:
        base = None
    return FileSlice(
        file_group_id=group_id, base_instant_time=base_time, base_file=base, log_files=tuple(kept)
    )


def _logs_by_completion(
    base: BaseFile | None, logs: list[LogFile], visibility: Visibility
) -> tuple[str, list[LogFile]]:
    """Return base instant time and log files of the latest slice, for table version 8 and later.

    The slice contains the log files of delta commits that completed at or after the requested time of the base file.
    The completion time decides only to which slice a log file belongs. Within a slice, log files are sorted by
    requested time.
    """
    completed = visibility.completed  # a look-up here saves two calls for almost every log file
    visible = [log for log in logs if log.instant_time in completed or visibility.sees(log.instant_time)]
    if len(visible) > 1:
        visible.sort(key=lambda log: log.merge_order)
    if base is not None:
        begin = base.instant_time
        return begin, [log for log in visible if completed.get(log.instant_time, log.instant_time) >= begin]
    return min((log.instant_time for log in visible), default=""), visible


def _logs_by_name(
    base: BaseFile | None, logs: list[LogFile], visibility: Visibility
) -> tuple[str, list[LogFile]]:
    """Return base instant time and log files of the latest slice, for table version 6.

    The names of log files contain the base instant time of their slice. A scheduled compaction starts a new slice at
    its own requested time. Until the compaction completes, readers merge the new slice with the previous slice.
    """
    opened = [log.instant_time for log in logs if visibility.sees(log.instant_time)]
    if base is not None:
        opened.append(base.instant_time)
    base_time = max(opened, default="")
    waiting = {time for time in visibility.pending_compactions if time > base_time}
    kept = [log for log in logs if log.instant_time == base_time or log.instant_time in waiting]
    kept.sort(key=lambda log: log.merge_order)
    return base_time, kept


def is_visible_log(log: LogFile, visibility: Visibility) -> bool:
    """Whether readers open a log file. In table version 6, readers can still ignore blocks of this file."""
    if visibility.sees(log.instant_time):
        return True
    return not visibility.has_own_log_instants and log.instant_time in visibility.pending_compactions


def logs_by_slice(
    base_times: Collection[str], logs: Iterable[LogFile], visibility: Visibility
) -> dict[str, list[LogFile]]:
    """Map the base instant time of each slice of a file group to its visible log files.

    In table version 6, the name of a log file can contain the time of a pending compaction. As in `latest_slices`, such
    a log file belongs to the latest slice before the compaction, because readers merge both slices.

    Args:
        base_times: instant times of the visible base files of the file group.
    """
    found: dict[str, list[LogFile]] = defaultdict(list)
    without_base = []
    for log in logs:
        time = log.instant_time
        if visibility.has_own_log_instants:
            seen_from = visibility.visible_from(time)
            slice_time = max((base for base in base_times if base <= seen_from), default="")
        elif visibility.sees(time):
            slice_time = time
        else:
            slice_time = ""
        if slice_time:
            found[slice_time].append(log)
        else:
            without_base.append(log)
    if without_base:
        found[_slice_without_base(base_times, found.keys(), without_base, visibility)] += without_base
    return dict(found)


def _slice_without_base(
    base_times: Collection[str],
    named: Collection[str],
    logs: Collection[LogFile],
    visibility: Visibility,
) -> str:
    """Return the base instant time for log files whose own slice has no base file, or is a pending compaction."""
    first = min(log.instant_time for log in logs)
    if visibility.has_own_log_instants:
        return first
    return max((time for time in (*base_times, *named) if time < first), default=first)
