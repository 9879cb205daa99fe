"""Find file slices of an earlier state that have lost some, but not all, of their files to a clean.

A clean deletes a slice file by file, and keeps log files that a later slice also needs. So the files that are left can
look like a smaller slice. The commits that wrote the files show the difference.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.storage.timeline_store import TimelineStore


def incomplete_slices(
    store: TimelineStore,
    writes: Sequence[Instant],
    slices: Iterable[FileSlice],
    *,
    has_own_log_instants: bool,
) -> frozenset[FileGroupId]:
    """Return the file groups whose slice lacks a file that a write of the state wrote to this slice.

    Args:
        writes: the completed writes of the state on the active timeline. Files of archived writes are not checked. If
            the state has no delta commit, its slices have one file each, and the function reads no commit.
        has_own_log_instants: whether names of log files contain the delta commit (table version 8 and later).
    """
    if not any(write.action is Action.DELTA_COMMIT for write in writes):
        return frozenset()
    found = [_FoundSlice(each, frozenset(log.file_name for log in each.log_files)) for each in slices]
    by_group = {each.file_slice.file_group_id: each for each in found}
    return frozenset(
        each.file_slice.file_group_id
        for writer, stats in zip(writes, map_in_parallel(partial(_stats, store), writes), strict=True)
        for stat in stats
        if (each := by_group.get(FileGroupId(stat.partition_path, stat.file_id))) is not None
        and each.lacks(stat, writer, has_own_log_instants)
    )


@dataclass(frozen=True, slots=True)
class _FoundSlice:
    file_slice: FileSlice
    log_names: frozenset[str]

    def lacks(self, stat: WriteStat, writer: Instant, has_own_log_instants: bool) -> bool:
        """Whether a file that a write of the state wrote to this file group is missing in the slice.

        A slice has the newest base file of the file group, and the log files since then; see `latest_slices`.
        """
        if not stat.is_log_file:
            return self.file_slice.base_file is None
        name = file_name(stat.path)
        if name in self.log_names:
            return False
        if self.file_slice.base_file is None:
            return True
        base_time = self.file_slice.base_instant_time
        if has_own_log_instants:
            return writer.visible_from >= base_time
        return LogFile.from_file_name(name).instant_time == base_time


def _stats(store: TimelineStore, instant: Instant) -> tuple[WriteStat, ...]:
    """Write stats of an instant; empty if the instant was just archived."""
    try:
        return tuple(store.commit_metadata(instant).write_stats)
    except ObjectNotFoundError:
        return ()
