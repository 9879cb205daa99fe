"""Reconstruct the file sizes after each of the latest writes, backwards from the present sizes."""

from collections.abc import Iterable, Mapping, Sequence

from hudi_table_services.model.data_file import BASE_FILE_EXTENSIONS, instant_in_file_name
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_history import FileSizes, TableHistory, WriteSummary
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata, WriteStat

SCHEMA_KEY = "schema"
_Versions = Mapping[FileGroupId, Mapping[str, int]]


def table_history(
    snapshot: TableSnapshot, writes: Sequence[tuple[Instant, CommitMetadata]], stored: _Versions
) -> TableHistory:
    """Build the history of the latest writes.

    Args:
        writes: the latest completed writes without a gap, in the order in which they became visible.
        stored: for each file group, maps the instant time of each base file on storage to the size of the file in
            bytes.
    """
    sizes = _Sizes(snapshot, [metadata for _, metadata in writes], stored)
    backwards = []
    for instant, metadata in reversed(writes):
        backwards.append(sizes.as_of(instant))
        sizes.undo(instant, metadata)
    return TableHistory(
        writes=tuple(write_summary(instant, metadata) for instant, metadata in writes),
        sizes=tuple(reversed(backwards)),
    )


def write_summary(instant: Instant, metadata: CommitMetadata) -> WriteSummary:
    """Add up the write stats of a completed write."""
    stats, replaced = metadata.write_stats, metadata.partition_to_replace_file_ids or {}
    return WriteSummary(
        instant=instant,
        operation=metadata.operation_type,
        rows_inserted=sum(s.num_inserts for s in stats),
        rows_updated=sum(s.num_update_writes for s in stats),
        rows_deleted=sum(s.num_deletes for s in stats),
        files_written=len(stats),
        bytes_written=sum(s.file_size_bytes for s in stats),
        files_replaced=sum(map(len, replaced.values())),
        partitions=tuple(sorted({*metadata.partition_to_write_stats, *replaced})),
        extra_metadata={k: v for k, v in metadata.extra_metadata.items() if k != SCHEMA_KEY},
    )


class _Sizes:
    """Sizes of the table's base files. `undo` returns to the sizes before a write. An unknown size is None."""

    def __init__(self, snapshot: TableSnapshot, writes: Iterable[CommitMetadata], stored: _Versions) -> None:
        self._now: dict[FileGroupId, int | None] = {
            s.file_group_id: s.base_file.size_bytes for s in snapshot.all_slices if s.base_file is not None
        }
        self._versions: dict[FileGroupId, dict[str, int]] = {
            group: dict(versions) for group, versions in stored.items()
        }
        for metadata in writes:
            for stat in filter(_is_base_file, metadata.write_stats):
                versions = self._versions.setdefault(_group(stat), {})
                versions.setdefault(_instant_time(stat), stat.file_size_bytes)

    def as_of(self, instant: Instant) -> FileSizes:
        known = sorted(size for size in self._now.values() if size is not None)
        return FileSizes(instant=instant, sizes_bytes=tuple(known), unknown_count=len(self._now) - len(known))

    def undo(self, instant: Instant, metadata: CommitMetadata) -> None:
        for stat in filter(_is_base_file, metadata.write_stats):
            group = _group(stat)
            self._now.pop(group, None)
            if stat.prev_commit != NEW_FILE_GROUP:
                self._now[group] = self._before(group, instant)
        for partition_path, file_ids in (metadata.partition_to_replace_file_ids or {}).items():
            for file_id in file_ids:
                group = FileGroupId(partition_path, file_id)
                self._now[group] = self._before(group, instant)

    def _before(self, group: FileGroupId, instant: Instant) -> int | None:
        older = {
            time: size
            for time, size in self._versions.get(group, {}).items()
            if time < instant.requested_time
        }
        return older[max(older)] if older else None


def _is_base_file(stat: WriteStat) -> bool:
    return stat.path.endswith(tuple(BASE_FILE_EXTENSIONS))


def _group(stat: WriteStat) -> FileGroupId:
    return FileGroupId(stat.partition_path, stat.file_id)


def _instant_time(stat: WriteStat) -> str:
    return instant_in_file_name(stat.path.rpartition("/")[2]) or ""
