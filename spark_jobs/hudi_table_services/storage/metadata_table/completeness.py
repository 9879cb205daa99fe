"""Compare a metadata table with its table: find missing and surplus instants, and missing files.

A metadata table can be behind or ahead of its table if a writer ignored the metadata table, if a writer died and its
instants were deleted by hand, or if a file of the metadata table was lost. Hudi's readers do not notice such
differences, and lose rows. `MetadataPartition` does not check for them either. Callers that need complete records call
the functions of this module.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from hudi_table_services.hudi_format.metadata_table.file_groups import file_group_id
from hudi_table_services.model.data_file import LogFile, instant_in_file_name
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import FILE_GROUPS_KEY, CommitMetadata, WriteStat
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.metadata_table.counted_instants import (
    delta_commits_of_table,
    is_build_instant,
    is_first_instant,
    is_own_instant,
)
from hudi_table_services.storage.metadata_table.group_files import first_log_file
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.storage.stores.storage import StoredObject

_INITIAL_DIGITS = 20
_TIME_DIGITS = 17
_FIRST_INITIAL_NUMBER = 10


def later_instants(table: MetadataTable) -> frozenset[str]:
    """Return the delta commits that began after the table's timeline was loaded.

    That timeline cannot contain their instants.
    """
    known = _times(table.data_timeline)
    newest = _newest_time(table.data_timeline)
    times = (i.requested_time for i in delta_commits_of_table(table.timeline))
    return frozenset(time for time in times if time not in known and time > newest)


def abandoned_instants(table: MetadataTable, data: Timeline, own: Timeline) -> list[str]:
    """Return the later delta commits (see `later_instants`) that still exist although their instant was deleted.

    A write first requests its instant in the table and then begins its delta commit. A job that undoes the write first
    deletes the delta commit and then the instant. So if timelines that are loaded later contain the delta commit but
    not its instant, the delta commit does not belong to a running writer.

    Args:
        table: the metadata table, opened before `data` was loaded.
        data: timeline of the table.
        own: timeline of the metadata table, loaded after `data`.
    """
    if any(i.action is Action.RESTORE for i in data.pending):
        return []
    later, known, kept = later_instants(table), _times(data), _times(own)
    return [
        i.requested_time
        for i in delta_commits_of_table(table.timeline)
        if i.requested_time in (later & kept) - known and not _repairs_after_restore(i, data)
    ]


def merged_later_instants(table: MetadataTable, slices: Iterable[FileSlice]) -> list[str]:
    """Return the delta commits that a compaction merged and that are not completed on the table's loaded timeline.

    Readers that use this timeline cannot ignore the records of these delta commits, because the base file contains the
    records. See `later_instants`.
    """
    # A slice without a base file can be younger than the delta commit: a later write created the file group.
    bases = {s.base_instant_time for s in slices if s.base_file is not None}
    unseen = later_instants(table) | {i.requested_time for i in table.data_timeline.pending}
    return [
        i.requested_time
        for i in delta_commits_of_table(table.timeline)
        if i.requested_time in unseen
        and not all(_is_behind_base(i, base, is_new_format=table.has_own_log_instants) for base in bases)
    ]


def unexplained_instants(table: MetadataTable, file_slice: FileSlice) -> list[str]:
    """Return the delta commits that are newer than the base file of a slice, and whose instant the table does not have.

    The result leaves out delta commits that are later than the table's timeline, and delta commits that belong to a
    restore. From table version 8 on, it also leaves out delta commits whose instant is archived. In table version 6,
    the result contains them, because readers ignore a delta commit whose instant is not on the active timeline.
    """
    data, is_new_format = table.data_timeline, table.has_own_log_instants
    known, later = _times(data), later_instants(table)
    archived_before = (first_write_time(data) or "") if is_new_format else ""
    return [
        i.requested_time
        for i in delta_commits_of_table(table.timeline)
        if _is_behind_base(i, file_slice.base_instant_time, is_new_format=is_new_format)
        and i.requested_time not in known | later
        and i.requested_time >= archived_before
        and not _repairs_after_restore(i, data)
    ]


def missing_instants(table: MetadataTable) -> list[str]:
    """Return the completed writes and cleans of the table that the metadata table should have but does not have."""
    present = {i.requested_time for i in table.timeline.completed if i.action is Action.DELTA_COMMIT}
    since, built_at = _known_since(table.timeline), _built_at(table)
    return [
        i.requested_time
        for i in table.data_timeline.completed
        if (i.action.writes_data or i.action is Action.CLEAN)
        and i.requested_time not in present
        and (i.requested_time > since or i.visible_from > built_at)
    ]


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """A file of a partition of the metadata table, according to the commit metadata of an instant."""

    name: str
    size_bytes: int
    instant_time: str

    @property
    def is_log(self) -> bool:
        return self.name.startswith(".")

    @property
    def group(self) -> str:
        """Id of the file group."""
        return self.name.removeprefix(".").partition("_")[0]


def expected_files(
    table: MetadataTable,
    partition: str,
    present: Collection[StoredObject],
    read: Callable[[Instant], CommitMetadata] | None = None,
) -> list[ExpectedFile]:
    """Return the files of a partition that readers of its newest slices need.

    According to the timeline of the metadata table, these are the base files of the newest compaction, the files of the
    delta commits after it, and the base files of file groups that this compaction left out because they had no log
    file.

    This function reads the commit metadata of these instants in parallel. If the partition has one file group and a
    base file of the compaction exists, the commit metadata of the compaction is not read, because the reader of the
    base file detects a truncated file.

    Args:
        present: files of the partition's folder.
        read: reads the commit metadata of an instant; None means `MetadataTable.commit_metadata`.

    Raises:
        MalformedMetadataError: commit metadata cannot be read.
    """
    read = read or table.commit_metadata
    compaction, base = _newest_compaction(table, partition, present, read)
    writes = [
        i
        for i in table.timeline.completed_writes
        if i.action is Action.DELTA_COMMIT
        and (
            compaction is None
            or _is_behind_base(i, compaction.requested_time, is_new_format=table.has_own_log_instants)
        )
    ]
    metadata = map_in_parallel(read, writes)
    found = [*base]
    if compaction is not None:
        found += _older_base_files(table, partition, _groups(present) - _groups(base), read)
    for instant, content in zip(writes, metadata, strict=True):
        found += _expected(instant, content.partition_to_write_stats.get(partition, ()))
        found += _first_log_files(instant, content, partition)
    return found


def lost_files(expected: Iterable[ExpectedFile], present: Iterable[StoredObject]) -> list[str]:
    """Return the names of expected files that do not exist or are too short.

    A file can be longer than expected, because writers of table version 6 append to files.
    """
    sizes = {stored.name: stored.size_bytes for stored in present}
    return [file.name for file in expected if sizes.get(file.name, -1) < file.size_bytes]


def names_show_completeness(table: MetadataTable, present: Iterable[StoredObject]) -> bool:
    """Whether the file names of the partition `files` show that no file since the newest compaction is lost.

    This function reads no file. False means that the names are not sufficient, so the caller must call
    `expected_files`. Each delta commit writes one log file of `files`, because this partition has one file group.

    Args:
        present: files of the folder of `files`.
    """
    compactions = [i.requested_time for i in table.timeline.completed_writes if i.action is Action.COMMIT]
    names = [stored.name for stored in present]
    bases = [instant_in_file_name(n) or "" for n in names if n.endswith(".hfile") and n[:1] != "."]
    base = max((time for time in bases if time in compactions or is_own_instant(time)), default="")
    if not base or (compactions and base != max(compactions)):
        return False
    logs = [log for log in map(LogFile.parse_or_none, names) if log is not None]
    behind = [
        i.requested_time
        for i in delta_commits_of_table(table.timeline)
        if not compactions or _is_behind_base(i, base, is_new_format=table.has_own_log_instants)
    ]
    if table.has_own_log_instants:
        return {log.instant_time for log in logs}.issuperset(behind)
    # Table version 6 numbers the log files of a slice. A rollback adds a log file but removes a delta commit, so after
    # a rollback the numbers prove nothing.
    if any(i.action in (Action.ROLLBACK, Action.RESTORE) for i in table.timeline.completed):
        return False
    numbers = sorted(log.version for log in logs if log.instant_time == base)
    first_log_files = 0 if compactions else 1
    return numbers == list(range(1, len(behind) + first_log_files + 1))


def _newest_compaction(
    table: MetadataTable,
    partition: str,
    present: Collection[StoredObject],
    read: Callable[[Instant], CommitMetadata],
) -> tuple[Instant | None, list[ExpectedFile]]:
    bases = _bases_of_one_group(present)
    for instant in reversed(table.timeline.completed_writes):
        if instant.action is Action.COMMIT:
            if found := bases.get(instant.requested_time):
                return instant, [ExpectedFile(found.name, found.size_bytes, instant.requested_time)]
            metadata = read(instant)
            files = list(_expected(instant, metadata.partition_to_write_stats.get(partition, ())))
            if files:
                return instant, files
    return None, []


def _older_base_files(
    table: MetadataTable,
    partition: str,
    file_ids: Collection[str],
    read: Callable[[Instant], CommitMetadata],
) -> Iterator[ExpectedFile]:
    """Yield the newest base file of each given file group. An earlier compaction or the build wrote this file."""
    wanted = set(file_ids)
    for instant in reversed(table.timeline.completed_writes):
        if not wanted:
            return
        if instant.action is Action.COMMIT or is_build_instant(instant.requested_time):
            for file in _expected(instant, read(instant).partition_to_write_stats.get(partition, ())):
                if not file.is_log and file.group in wanted:
                    wanted.remove(file.group)
                    yield file


def _groups(files: Iterable[StoredObject | ExpectedFile]) -> frozenset[str]:
    """Ids of the file groups of data files."""
    return frozenset(
        f.name.removeprefix(".").partition("_")[0] for f in files if instant_in_file_name(f.name)
    )


def _bases_of_one_group(present: Collection[StoredObject]) -> dict[str | None, StoredObject]:
    """Map instant times to base files; empty if the partition has several file groups."""
    file_ids = {stored.name.removeprefix(".").partition("_")[0] for stored in present}
    if len(file_ids) > 1:
        return {}
    return {instant_in_file_name(stored.name): stored for stored in present if stored.name[:1] != "."}


def _expected(instant: Instant, stats: Iterable[WriteStat]) -> Iterator[ExpectedFile]:
    for stat in stats:
        yield ExpectedFile(file_name(stat.path), stat.file_size_bytes, instant.requested_time)


def _first_log_files(instant: Instant, content: CommitMetadata, partition: str) -> Iterator[ExpectedFile]:
    """Yield the log files with which an instant of this project created the file groups of a partition."""
    name, _, count = content.extra_metadata.get(FILE_GROUPS_KEY, "").partition("=")
    if name == partition and count.isdecimal():
        for number in range(int(count)):
            log = first_log_file(file_group_id(partition, number), instant.requested_time)
            yield ExpectedFile(log.file_name, 1, instant.requested_time)


def _is_behind_base(instant: Instant, base_instant_time: str, *, is_new_format: bool) -> bool:
    return (instant.visible_from if is_new_format else instant.requested_time) >= base_instant_time


def _times(timeline: Timeline) -> frozenset[str]:
    return frozenset(i.requested_time for i in timeline)


def _newest_time(timeline: Timeline) -> str:
    return max((i.visible_from for i in timeline), default="")


def _repairs_after_restore(instant: Instant, data: Timeline) -> bool:
    """Whether a restore was running when the delta commit was requested.

    From table version 8 on, a restore requests such a delta commit to repair the metadata table.
    """
    return any(
        i.action is Action.RESTORE and i.requested_time < instant.requested_time < i.visible_from
        for i in data.completed
    )


def _known_since(own: Timeline) -> str:
    """Return a requested time. All writes of the table with later requested times should be in the metadata table."""
    starts = [i.requested_time for i in delta_commits_of_table(own)]
    starts += [
        i.requested_time[:_TIME_DIGITS]
        for i in own.completed
        if i.action is Action.DELTA_COMMIT and _is_initial_of_old_format(i.requested_time)
    ]
    return min(starts, default="9")


def _is_initial_of_old_format(instant_time: str) -> bool:
    """Whether the instant built a partition from a table that had writes.

    The time of such an instant is the time of the newest write, followed by a number from 010 on.
    """
    return len(instant_time) == _INITIAL_DIGITS and int(instant_time[_TIME_DIGITS:]) >= _FIRST_INITIAL_NUMBER


def _built_at(table: MetadataTable) -> str:
    """Return the time of the first build of a partition; ``"9"`` if unknown.

    The metadata table should contain every write that completed after this time.
    """
    built = [
        i.visible_from if table.has_own_log_instants else i.requested_time
        for i in table.timeline.completed
        if i.action is Action.DELTA_COMMIT and is_first_instant(i.requested_time)
    ]
    return min(built, default="9")
