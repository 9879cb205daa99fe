"""Find the file groups that can contain rows that a window of commits changed or deleted."""

from collections.abc import Iterable, Mapping

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.write_stat import MOVE_ROWS, CommitMetadata, WriteOperation

_Groups = frozenset[FileGroupId]


def affected_groups(commits: Iterable[CommitMetadata]) -> _Groups:
    """Return the file groups that contain changed rows before or after the commits.

    Clusterings and other table services rewrite rows without changing them. But if a clustering reads or writes a file
    group that another commit changed, a changed row may have moved between the file groups of the clustering. So the
    result then contains all file groups of this clustering.

    Args:
        commits: all completed writes of a window.
    """
    affected: set[FileGroupId] = set()
    moves: list[_Groups] = []
    for commit in commits:
        groups = _written(commit) | _replaced(commit)
        if commit.operation_type in MOVE_ROWS:
            moves.append(groups)
        else:
            affected |= groups
    while connected := [each for each in moves if not affected.isdisjoint(each)]:
        moves = [each for each in moves if affected.isdisjoint(each)]
        affected.update(*connected)
    return frozenset(affected)


def may_delete_rows(commits: Iterable[CommitMetadata], table_type: TableType) -> bool:
    """Return whether the commits may have deleted rows.

    Write stats of merge-on-read tables do not prove that there are no deletes: by the merge rule of the table, a row
    of a log file can be a delete.
    """
    writes = [each for each in commits if each.operation_type not in MOVE_ROWS]
    if table_type is TableType.MERGE_ON_READ:
        return bool(writes)
    return any(_replaced(each) or any(stat.num_deletes for stat in each.write_stats) for each in writes)


def may_change_rows(commits: Iterable[CommitMetadata], table_type: TableType) -> bool:
    """Return whether the commits may have changed or deleted earlier rows. See `may_delete_rows`."""
    writes = [each for each in commits if each.operation_type not in MOVE_ROWS]
    updates = any(stat.num_update_writes for each in writes for stat in each.write_stats)
    return updates or may_delete_rows(writes, table_type)


def by_partition(groups: Iterable[FileGroupId]) -> Mapping[str, frozenset[str]]:
    """Map each partition path to the ids of its file groups."""
    found: dict[str, set[str]] = {}
    for group in groups:
        found.setdefault(group.partition_path, set()).add(group.file_id)
    return {path: frozenset(ids) for path, ids in found.items()}


def _written(commit: CommitMetadata) -> _Groups:
    if commit.operation_type in (WriteOperation.COMPACT, WriteOperation.LOG_COMPACT):
        return frozenset()  # A compaction leaves each row in its file group.
    return frozenset(FileGroupId(stat.partition_path, stat.file_id) for stat in commit.write_stats)


def _replaced(commit: CommitMetadata) -> _Groups:
    replaced = commit.partition_to_replace_file_ids or {}
    return frozenset(FileGroupId(path, file_id) for path, ids in replaced.items() for file_id in ids)
