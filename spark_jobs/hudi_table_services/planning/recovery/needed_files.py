"""Find the files that readers need now, and describe their faults on storage. If in doubt, a file counts as sound.

Readers need only the files of the newest version of each file group. A clean may have deleted the older versions.
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
    """A file of the newest version of its file group.

    Attributes:
        path: path relative to the base path.
        time: requested time of the write whose metadata names the file.
        size_bytes: size of a base file according to that write; 0 if unknown. Always 0 for log files, because log files
            grow.
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
    """Return the files of the newest version of each file group that these writes name, in the order of paths.

    Args:
        writes: completed writes.
        live_since: maps each file group to the instant time of its base file on storage. If none of `writes` names this
            base file, it was written by an archived write, or by a write that completed after `writes` was read.
        has_own_log_instants: whether log files are named after their own delta commit (table version 8 and later).
    """
    groups: dict[FileGroupId, _Group] = {}
    replaced: set[FileGroupId] = set()
    for instant, metadata in writes:
        by_folder = metadata.partition_to_replace_file_ids or {}
        replaced.update(FileGroupId(folder, file_id) for folder, ids in by_folder.items() for file_id in ids)
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
        # A delta commit that had no rows to append names a log file that was never created.
        if log_time is not None and stat.file_size_bytes > 0:
            slice_time = instant.visible_from if has_own_log_instants else log_time
            group.logs.append((slice_time, NeededFile(path=path, time=time, is_log=True)))
        return
    if base_time > group.base_time:
        group.base_time, group.bases = base_time, []
    if base_time == group.base_time:
        group.bases.append(NeededFile(path=path, time=time, size_bytes=max(0, stat.file_size_bytes)))


def _log_time(name: str) -> str | None:
    log = LogFile.parse_or_none(name)
    return None if log is None or log.is_cdc else log.instant_time


def fault_of(file: NeededFile, size_bytes: int | None) -> str:
    """Describe the fault of a needed file; return an empty string if the file is sound.

    Args:
        size_bytes: length of the file on storage; None if it does not exist.
    """
    if size_bytes is None:
        return "gone"
    if file.is_log:
        return ""
    if size_bytes == 0:
        return "empty"
    if file.size_bytes and size_bytes != file.size_bytes:
        return f"{size_bytes} bytes instead of {file.size_bytes}"
    return ""
