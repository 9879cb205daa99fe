"""Make the tasks that rewrite the groups of a clustering plan, and list the files that the clustering commits."""

from collections.abc import Sequence

from hudi_table_services.commits.plan_attempt import replaced_without
from hudi_table_services.execution.clustering.inputs import InputFile
from hudi_table_services.execution.clustering.rewrite import GroupOutcome, GroupTask
from hudi_table_services.execution.file_groups import new_file_id
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.table_service_plans import ClusteringGroup
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.write_stat import WriteStat


def group_tasks(groups: Sequence[ClusteringGroup], snapshot: TableSnapshot) -> tuple[GroupTask, ...]:
    """Return one task for each group of a plan."""
    current = {s.file_group_id: s for s in snapshot.all_slices}
    tasks: list[GroupTask] = []
    first_number = 0
    for index, group in enumerate(groups):
        slices = [current[FileGroupId(s.partition_path, s.file_id)] for s in group.slices]
        inputs = tuple(_input(s, snapshot) for s in slices if s.paths)
        count = max(1, group.output_file_groups)
        tasks.append(
            GroupTask(
                index=index,
                partition_path=group.slices[0].partition_path,
                inputs=inputs,
                file_ids=tuple(new_file_id() for _ in range(count)),
                first_number=first_number,
            )
        )
        first_number += count
    return tuple(tasks)


def _input(file_slice: FileSlice, snapshot: TableSnapshot) -> InputFile:
    base = file_slice.base_file
    has_logs = bool(file_slice.log_files) and snapshot.config.table_type is TableType.MERGE_ON_READ
    return InputFile(
        path=file_slice.paths[0],
        size_bytes=0 if base is None else base.size_bytes,
        logged=file_slice if has_logs else None,
    )


def committed_files(
    groups: Sequence[ClusteringGroup],
    outcomes: Sequence[GroupOutcome],
    dropped_groups: frozenset[FileGroupId],
) -> tuple[list[WriteStat], dict[str, tuple[str, ...]]]:
    """Return the write stats of the new files, and the ids of the replaced file groups by partition path.

    Args:
        outcomes: outcomes of the groups, in the same order.
        dropped_groups: file groups that the clustering gives up. Each group of the plan that contains one of them is
            left out.
    """
    stats: list[WriteStat] = []
    replaced: dict[str, tuple[str, ...]] = {}
    for group, outcome in zip(groups, outcomes, strict=True):
        if not dropped_groups.isdisjoint(FileGroupId(s.partition_path, s.file_id) for s in group.slices):
            continue
        stats.extend(file.stat for file in outcome.written)
        for planned in group.slices:
            replaced[planned.partition_path] = (*replaced.get(planned.partition_path, ()), planned.file_id)
    kept = replaced_without(replaced, dropped_groups)
    return stats, {path: tuple(sorted(ids)) for path, ids in sorted(kept.items())}
