"""Which files readers need now, as a pure rule, and what is wrong with them on storage. In doubt nothing is.

Only what the newest version of a file group is made of is needed: older versions may have been cleaned.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata, WriteStat


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededFile:
    """A file that the newest version of its file group is made of.

    Attributes:
        path: below the base path.
        time: requested time of the write that names it.
        size_bytes: of a base file, as its write says; 0: unknown, as for log files, which grow.
    """

    path: str
    time: str
    is_log: bool = False
    size_bytes: int = 0


@dataclass(slots=True)
class _Group:
    base_time: str = ""
    bases: list[NeededFile] = field(default_factory=list)
    logs: list[tuple[str, NeededFile]] = field(default_factory=list)


def needed_files(
    writes: Iterable[tuple[Instant, CommitMetadata]],
    live_since: Mapping[FileGroupId, str],
    *,
    has_own_log_instants: bool,
) -> tuple[NeededFile, ...]:
    """Files of the newest version of each file group, as far as these writes name them, in order of path.

    Args:
        writes: completed ones.
        live_since: instant time of the base file that storage has for a file group: one that no write names is
            from the archived part of the timeline, or of a write that completed since.
        has_own_log_instants: table version 8 and later name log files after their own delta commit.
    """
    groups: dict[FileGroupId, _Group] = {}
    replaced: set[FileGroupId] = set()
    for instant, metadata in writes:
        taken = metadata.partition_to_replace_file_ids or {}
        replaced.update(FileGroupId(folder, file_id) for folder, ids in taken.items() for file_id in ids)
        for stat in metadata.write_stats:
            _add(groups, instant, stat, has_own_log_instants)
    found: dict[str, NeededFile] = {}
    for group_id, group in groups.items():
        if group_id in replaced:
            continue
        newest = max(group.base_time, live_since.get(group_id, ""))
        if newest == group.base_time:
            found.update({file.path: file for file in group.bases})
        found.update({file.path: file for time, file in group.logs if time >= newest})
    return tuple(found[path] for path in sorted(found))


def _add(
    groups: dict[FileGroupId, _Group], instant: Instant, stat: WriteStat, has_own_log_instants: bool
) -> None:
    name = stat.path.rpartition("/")[2]
    folder = stat.partition_path.strip("/")
    path = f"{folder}/{name}" if folder else name
    group = groups.setdefault(FileGroupId(stat.partition_path, stat.file_id), _Group())
    time = instant.requested_time
    try:
        base_time = BaseFile.from_file_name(name).instant_time
    except MalformedFileNameError:
        log_time = _log_time(name)
        # A delta commit that had nothing to append names a log file that it never began.
        if log_time is not None and stat.file_size_bytes > 0:
            joined = instant.visible_from if has_own_log_instants else log_time
            group.logs.append((joined, NeededFile(path=path, time=time, is_log=True)))
        return
    if base_time > group.base_time:
        group.base_time, group.bases = base_time, []
    if base_time == group.base_time:
        group.bases.append(NeededFile(path=path, time=time, size_bytes=max(0, stat.file_size_bytes)))


def _log_time(name: str) -> str | None:
    try:
        log = LogFile.from_file_name(name)
    except MalformedFileNameError:
        return None
    return None if log.is_cdc else log.instant_time


def fault_of(file: NeededFile, size_bytes: int | None) -> str:
    """What is wrong with a needed file, in words; empty: nothing.

    Args:
        size_bytes: its length on storage; None: it is not there.
    """
    if size_bytes is None:
        return "gone"
    if file.is_log:
        return ""
    if size_bytes == 0:
        return "empty"
    if file.size_bytes and size_bytes != file.size_bytes:
        return f"{size_bytes} bytes in place of {file.size_bytes}"
    return ""
