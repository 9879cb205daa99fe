"""Find deleted file slices of an earlier state of a table, with the help of the commits after this state."""

from collections.abc import Callable, Iterable

from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata


def deleted_slices(
    belongs: Callable[[str], bool],
    later_commits: Iterable[CommitMetadata],
    slices: Iterable[FileSlice],
) -> tuple[FileGroupId, ...]:
    """Return the file groups whose slice in an earlier state has lost its base file.

    A clean deletes a slice only after a commit has written a newer slice of the file group, or has replaced the file
    group. So the commits after the state name every file group from which a clean may have deleted files. The write
    stat of the first newer base file of a file group also names the previous slice, which is the slice of the state.

    This function does not find slices that have lost only some of their files.

    Args:
        belongs: whether a write with this requested time belongs to the state.
        later_commits: all completed writes that do not belong to the state.
        slices: the slices of the state whose files exist.
    """
    found = {each.file_group_id: each for each in slices}
    new_groups: set[FileGroupId] = set()
    needed: dict[FileGroupId, str] = {}
    for commit in later_commits:
        for stat in commit.write_stats:
            group = FileGroupId(stat.partition_path, stat.file_id)
            if stat.prev_commit in (NEW_FILE_GROUP, ""):
                new_groups.add(group)
            elif not stat.is_log_file and belongs(stat.prev_commit):
                needed[group] = max(needed.get(group, ""), stat.prev_commit)
        for path, file_ids in (commit.partition_to_replace_file_ids or {}).items():
            for file_id in file_ids:
                needed.setdefault(FileGroupId(path, file_id), "")
    return tuple(
        sorted(
            group
            for group, since in needed.items()
            if _is_missing(found.get(group), since, group in new_groups)
        )
    )


def _is_missing(present: FileSlice | None, since: str, is_new: bool) -> bool:
    """Whether the slice of a file group was deleted.

    Args:
        since: base instant time of the slice according to later commits; empty if they do not name it.
        is_new: whether a later commit created the file group.
    """
    if present is None:
        return bool(since) or not is_new
    return bool(since) and present.base_instant_time != since
