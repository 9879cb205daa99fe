"""Find the groups of a pending clustering plan that can still be executed.

A plan names files. Once a completed write has replaced one of these files, the group with that file is permanently
outdated: its execution would rewrite rows that readers no longer see.
"""

from collections.abc import Mapping

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.table_snapshot import TableSnapshot


def file_groups_of(group: ClusteringGroup) -> frozenset[FileGroupId]:
    """Return the file groups that a group of the plan rewrites together."""
    return frozenset(FileGroupId(s.partition_path, s.file_id) for s in group.slices)


def partitions_of(plan: ClusteringPlan) -> tuple[str, ...]:
    """Return the paths of the partitions in which the plan has files, in order."""
    return tuple(sorted({s.partition_path for group in plan.groups for s in group.slices}))


def unchanged_groups(plan: ClusteringPlan, snapshot: TableSnapshot) -> tuple[ClusteringGroup, ...]:
    """Return the groups of the plan in which every file is still the latest version of its file group.

    Args:
        snapshot: current state of the table, with at least the partitions of the plan.
    """
    latest = {s.file_group_id: s.base_file.file_name for s in snapshot.all_slices if s.base_file is not None}
    taken: set[FileGroupId] = set()
    kept = []
    for group in plan.groups:
        file_groups = file_groups_of(group)
        # A plan of Hudi's commit-based strategy can name a file group twice. Its execution would then duplicate rows.
        is_once = len(file_groups) == len(group.slices) and taken.isdisjoint(file_groups)
        if is_once and all(_is_latest(s, latest) for s in group.slices):
            kept.append(group)
            taken |= file_groups
    return tuple(kept)


def _is_latest(planned: ClusteringSlice, latest: Mapping[FileGroupId, str]) -> bool:
    name = (planned.data_file_path or "").rpartition("/")[2]
    return latest.get(FileGroupId(planned.partition_path, planned.file_id)) == name
