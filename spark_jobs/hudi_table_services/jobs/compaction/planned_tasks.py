"""Make the tasks that carry out the operations of a compaction plan.

A task merges the files that the plan names. It also merges log files that the plan does not name, if readers would no
longer see them after the compaction. For example, in table version 6, a delta commit that began before the plan was
requested can complete afterwards, and its log file then belongs to the slice that the plan merges. Hudi 0.15 loses the
rows of such a log file.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hudi_table_services.errors import CorruptTableError, FileGroupConflictError
from hudi_table_services.execution.compaction.merge_slice import SliceTask
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CompactionOperation
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.storage.file_slices import Visibility, visibility_of
from hudi_table_services.storage.stores.paths import file_name, join_path
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.compaction.compaction_history import Compaction

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlannedTasks:
    """Tasks of one plan.

    Attributes:
        replaced_groups: number of file groups without a task, because a completed write replaced them. Readers no
            longer see these file groups.
    """

    tasks: tuple[SliceTask, ...]
    replaced_groups: int = 0

    @property
    def base_bytes(self) -> dict[str, list[int]]:
        """Return the sizes of the base files, by partition."""
        sizes: dict[str, list[int]] = {}
        for task in self.tasks:
            base = task.file_slice.base_file
            if base is not None:
                path = task.file_slice.file_group_id.partition_path
                sizes.setdefault(path, []).append(base.size_bytes)
        return sizes


def planned_tasks(compaction: Compaction, snapshot: TableSnapshot, store: TimelineStore) -> PlannedTasks:
    """Find the files of each operation among the visible files of the table.

    Args:
        snapshot: current state of the table, with at least the partitions of the plan.

    Raises:
        CorruptTableError: the plan names a file group twice, or a file that readers of the table do not see.
        FileGroupConflictError: another writer replaced the base file of a planned file group.
    """
    current = {each.file_group_id: each for each in snapshot.all_slices}
    visibility = visibility_of(snapshot)
    tasks: dict[FileGroupId, SliceTask] = {}
    missing: list[FileGroupId] = []
    for number, operation in enumerate(compaction.plan.operations):
        group = FileGroupId(operation.partition_path, operation.file_id)
        if group in tasks:
            raise CorruptTableError(
                f"Compaction {compaction.instant.requested_time} names the file group {group} twice.",
                hint="Cancel the plan and schedule a new one.",
            )
        found = current.get(group)
        if found is None:
            missing.append(group)
        else:
            file_slice = _planned_slice(compaction, operation, found, visibility)
            tasks[group] = SliceTask(number=number, file_slice=file_slice)
    replaced = _replaced_groups(snapshot, store) if missing else frozenset()
    for group in missing:
        if group not in replaced:
            raise _not_visible(compaction, str(group))
    return PlannedTasks(tuple(tasks.values()), len(missing))


def _planned_slice(
    compaction: Compaction, operation: CompactionOperation, current: FileSlice, visibility: Visibility
) -> FileSlice:
    """Return the slice with the files of the operation, and with the log files that the compaction would hide.

    The log files have the same order as in the current slice.
    """
    planned = file_name(operation.data_file_path or "")
    present = current.base_file.file_name if current.base_file is not None else ""
    if planned != present:
        raise FileGroupConflictError(
            f"Compaction {compaction.instant.requested_time} is to merge {planned or 'only log files'} in the file "
            f"group {current.file_group_id}, whose base file is {present or 'missing'}.",
            hint="Another writer changed the file group although the plan reserved it. Cancel the plan, and schedule a "
            "new one.",
        )
    logs: Mapping[str, LogFile] = {log.file_name: log for log in current.log_files}
    names = {file_name(path) for path in operation.delta_file_paths}
    for name in sorted(names - logs.keys()):
        raise _not_visible(compaction, join_path(operation.partition_path, name))
    time = compaction.instant.requested_time
    for log in current.log_files:
        # `visible_from` returns, in table version 6, the base instant in the name of the log file and, in later
        # versions, the completion time of the delta commit that wrote the log file.
        if log.file_name not in names and visibility.visible_from(log.instant_time) < time:
            path = join_path(operation.partition_path, log.file_name)
            _LOG.warning("Compaction %s also merges %s, which its plan does not name.", time, path)
            names.add(log.file_name)
    return replace(
        current,
        base_instant_time=operation.base_instant_time or current.base_instant_time,
        log_files=tuple(log for name, log in logs.items() if name in names),
    )


def _not_visible(compaction: Compaction, what: str) -> CorruptTableError:
    return CorruptTableError(
        f"Compaction {compaction.instant.requested_time} names {what}, which readers of the table do not see.",
        path=what,
        hint="If a rollback or restore undid the write of the file, cancel the plan and schedule a new one. If the "
        "file is lost, restore it from a backup first.",
    )


def _replaced_groups(snapshot: TableSnapshot, store: TimelineStore) -> frozenset[FileGroupId]:
    """Return the file groups that were replaced by completed writes of the active timeline."""
    replaces = [i for i in snapshot.timeline.completed_writes if i.action is Action.REPLACE_COMMIT]
    return frozenset(
        FileGroupId(path, file_id)
        for instant in replaces
        for path, ids in (store.commit_metadata(instant).partition_to_replace_file_ids or {}).items()
        for file_id in ids
    )
