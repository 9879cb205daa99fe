"""Tell which groups of a pending clustering plan can still be carried out.

A plan names files. Once a completed write has replaced one of them the group it belongs to is outdated for good: what
the plan would rewrite is not what readers see.
"""

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan
from hudi_table_services.model.table_snapshot import TableSnapshot


def file_groups_of(group: ClusteringGroup) -> frozenset[FileGroupId]:
    """File groups that are rewritten together."""
    return frozenset(FileGroupId(s.partition_path, s.file_id) for s in group.slices)


def partitions_of(plan: ClusteringPlan) -> tuple[str, ...]:
    """Partition paths with files of the plan, in order."""
    return tuple(sorted({s.partition_path for group in plan.groups for s in group.slices}))


def unchanged_groups(plan: ClusteringPlan, snapshot: TableSnapshot) -> tuple[ClusteringGroup, ...]:
    """Groups of which every file is still the latest one of its file group.

    Args:
        snapshot: the table now, with the partitions of the plan at least.
    """
    latest = {s.file_group_id: s.base_file.file_name for s in snapshot.all_slices if s.base_file is not None}
    return tuple(group for group in plan.groups if _is_unchanged(group, latest))


def _is_unchanged(group: ClusteringGroup, latest: dict[FileGroupId, str]) -> bool:
    planned = {FileGroupId(s.partition_path, s.file_id): s.data_file_path or "" for s in group.slices}
    return all(
        group_id in latest and path.endswith(f"/{latest[group_id]}") for group_id, path in planned.items()
    )
