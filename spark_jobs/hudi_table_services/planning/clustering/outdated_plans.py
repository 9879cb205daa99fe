"""Find the groups of a pending clustering plan that can still be executed.

A plan names files. Once a completed write has replaced one of these files, the group with that file is permanently
outdated: its execution would rewrite rows that readers no longer see. In a merge-on-read table, a group is also
outdated if a write has added a log file to one of its slices: the plan does not name this log file.
"""

from collections.abc import Mapping

from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableType


def file_groups_of(group: ClusteringGroup) -> frozenset[FileGroupId]:
    """Return the file groups that a group of the plan rewrites together."""
    return frozenset(FileGroupId(s.partition_path, s.file_id) for s in group.slices)


def partitions_of(plan: ClusteringPlan) -> tuple[str, ...]:
    """Return the paths of the partitions in which the plan has files, in order."""
    return tuple(sorted({s.partition_path for group in plan.groups for s in group.slices}))


def unchanged_groups(plan: ClusteringPlan, snapshot: TableSnapshot) -> tuple[ClusteringGroup, ...]:
    """Return the groups of the plan in which every slice is still the latest version of its file group.

    Args:
        snapshot: current state of the table, with at least the partitions of the plan.
    """
    latest = {s.file_group_id: _current_files(s, snapshot) for s in snapshot.all_slices}
    taken: set[FileGroupId] = set()
    kept = []
    for group in plan.groups:
        file_groups = file_groups_of(group)
        # A plan of Hudi's commit-based strategy can name a file group twice. Its execution would then duplicate rows.
        is_once = len(file_groups) == len(group.slices) and taken.isdisjoint(file_groups)
        if is_once and all(_is_latest(s, latest, snapshot) for s in group.slices):
            kept.append(group)
            taken |= file_groups
    return tuple(kept)


_Files = tuple[str, frozenset[str]]
"""Names of the base file and of the log files of a slice; the name of a missing base file is empty."""


def _current_files(file_slice: FileSlice, snapshot: TableSnapshot) -> _Files:
    base = file_slice.base_file.file_name if file_slice.base_file is not None else ""
    return base, frozenset(log.file_name for log in file_slice.log_files if _has_logs(snapshot))


def _is_latest(
    planned: ClusteringSlice, latest: Mapping[FileGroupId, _Files], snapshot: TableSnapshot
) -> bool:
    logs = frozenset(_name(path) for path in planned.delta_file_paths if _has_logs(snapshot))
    current = latest.get(FileGroupId(planned.partition_path, planned.file_id))
    return current == (_name(planned.data_file_path or ""), logs) and current != ("", frozenset())


def _has_logs(snapshot: TableSnapshot) -> bool:
    return snapshot.config.table_type is TableType.MERGE_ON_READ


def _name(path: str) -> str:
    return path.rpartition("/")[2]
