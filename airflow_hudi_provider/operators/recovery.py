"""Operators that roll back, restore, create and delete savepoints, and remove orphans."""

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_hudi_provider.operators.upkeep import UpkeepOperator
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import instants_of
from airflow_hudi_provider.tasks.request_state import state_of_savepoints, state_of_timeline
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    DeleteSavepointRequest,
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import InvalidRequestError

_ALL_FAILED = "To roll back all failed writes, give all_failed=True instead of instant."


class SavepointOperator(UpkeepOperator):
    """Create a savepoint of a commit: cleaning and archival keep the commit and its files for a later restore.

    A second savepoint of the same commit changes nothing. Returns ``{"instant", "reason", "reused", …}``; `instant`
    is the requested time of the savepoint.

    .. seealso:: docs/recovery.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param instant: requested time of a completed commit. If empty, the newest completed commit is used. (templated)
    :param saved_by: name stored in the savepoint. (templated)
    :param comments: reason stored in the savepoint. (templated)
    :param preview: report what the savepoint would keep, and write nothing.
    :param run_on: where the job runs: ``worker`` or ``spark``; see `CleanOperator`.
    """

    script: ClassVar[str] = "create_savepoint.py"
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, "instant", "saved_by", "comments")

    def __init__(
        self, *, instant: str = "", saved_by: str = "airflow", comments: str = "", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.instant = instant
        self.saved_by = saved_by
        self.comments = comments
        self.check_arguments()

    def changed_so_far(self, run: TaskRun) -> str:
        return state_of_savepoints(run.table, then="the next try completes the savepoint of this task.")

    def build_request(
        self, location: TableLocation, request_id: str, result_uri: str
    ) -> CreateSavepointRequest:
        return CreateSavepointRequest(
            **self.common_fields(location, request_id, result_uri),
            instant=self.instant,
            saved_by=self.saved_by,
            comments=self.comments,
            preview=self.preview,
        )


class DeleteSavepointOperator(UpkeepOperator):
    """Delete savepoints. Afterwards cleaning may delete the files that these savepoints kept.

    .. seealso:: docs/recovery.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param instant: requested times of the savepointed commits: one time, a list, or the return value of a
        `SavepointOperator`. (templated)
    :param preview: report which savepoints would be deleted, and delete none.
    :param run_on: where the job runs: ``worker`` or ``spark``; see `CleanOperator`.
    """

    script: ClassVar[str] = "delete_savepoint.py"
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, "instant")

    def __init__(self, *, instant: str | Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instant = instant
        self.check_arguments()

    def changed_so_far(self, run: TaskRun) -> str:
        return state_of_savepoints(
            run.table, then="if this task began to delete the savepoint, the next try completes the deletion."
        )

    def build_request(
        self, location: TableLocation, request_id: str, result_uri: str
    ) -> DeleteSavepointRequest:
        return DeleteSavepointRequest(
            **self.common_fields(location, request_id, result_uri),
            instants=instants_of(self.instant),
            preview=self.preview,
        )

    def is_confirmed(self, run: TaskRun, result: JobResult) -> bool:
        return not any(
            i.requested_time == result.instant_time and i.action.value == "savepoint"
            for i in run.table.timeline()
        )


class RollbackOperator(UpkeepOperator):
    """Roll back failed writes of a table, or the newest completed writes.

    Writes and cleans roll back dead writes automatically. Use this operator if no write or clean follows, or to undo
    a commit that was a mistake. The operator never rolls back past a savepoint, and never rolls back a write with a
    fresh heartbeat. Returns ``{"undone", "finished", "left_alone", …}``.

    .. seealso:: docs/recovery.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param instant: requested times of the writes: one time, a list, or the return value of a task. (templated)
    :param all_failed: roll back every pending write without a fresh heartbeat, instead of the writes in ``instant``.
    :param preview: report what would be undone, and undo nothing.
    :param on_nothing: what the task does if there is nothing to undo: ``skip``, ``succeed`` or ``fail``.
    :param run_on: where the job runs: ``worker`` or ``spark``; see `CleanOperator`.
    """

    script: ClassVar[str] = "rollback.py"
    action = "rollback"
    left_behind = "The next run finishes pending rollbacks first, unless it is a preview."
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, "instant")

    def __init__(
        self, *, instant: str | Sequence[str] | None = None, all_failed: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.instant = instant
        self.all_failed = all_failed
        self.check_arguments()

    def changes_rows(self) -> bool:
        return not self.all_failed  # readers never saw the rows of failed writes

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> RollbackRequest:
        if self.instant is not None and self.all_failed:
            raise InvalidRequestError(
                "instant and all_failed=True are both given.", hint="Leave out one of the two."
            )
        return RollbackRequest(
            **self.common_fields(location, request_id, result_uri),
            instants=() if self.instant is None else instants_of(self.instant, how_to_select_all=_ALL_FAILED),
            all_failed=self.all_failed,
            preview=self.preview,
        )


class RestoreOperator(UpkeepOperator):
    """Restore a table to a savepoint: undo all changes after the savepoint, newest first.

    Stop all writers before the restore. If a restore was interrupted, run the task again; until the restore completes,
    no write is possible. If you clear a completed restore task, it does not undo writes that followed the restore.

    .. seealso:: docs/recovery.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param savepoint: requested time of the savepointed commit. (templated)
    :param preview: report which commits, files and rows the restore would remove, and undo nothing.
    :param run_on: where the job runs: ``worker`` or ``spark``; see `CleanOperator`.
    """

    script: ClassVar[str] = "restore.py"
    action = "restore"
    left_behind = "The next run finishes a pending restore first, unless it is a preview."
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, "savepoint")

    def __init__(self, *, savepoint: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.savepoint = savepoint
        self.check_arguments()

    def changes_rows(self) -> bool:
        return True

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> RestoreRequest:
        return RestoreRequest(
            **self.common_fields(location, request_id, result_uri),
            savepoint=self.savepoint,
            preview=self.preview,
        )


class RepairOperator(UpkeepOperator):
    """Find orphans: data files that belong to no instant, so that neither cleaning nor a rollback finds them.

    The operator deletes orphans only with ``preview=False``.

    .. seealso:: docs/recovery.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param preview: report why each orphan is an orphan, and delete nothing; ``False`` deletes the orphans.
    :param older_than_hours: minimum age of the orphans; the operator keeps younger files.
    :param max_files: maximum number of orphans to delete. If the operator finds more orphans, it deletes none, so that
        you can check the orphans first.
    :param backup_path: folder outside of the table. The job copies orphans to this folder before it deletes them.
        (templated)
    :param on_nothing: what the task does if there are no orphans: ``skip``, ``succeed`` or ``fail``.
    :param run_on: where the job runs: ``worker`` or ``spark``; see `CleanOperator`.
    """

    script: ClassVar[str] = "repair_orphan_files.py"
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, "backup_path")

    def __init__(
        self,
        *,
        preview: bool = True,
        older_than_hours: int = 24,
        max_files: int = 1000,
        backup_path: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(preview=preview, **kwargs)
        self.older_than_hours = older_than_hours
        self.max_files = max_files
        self.backup_path = backup_path
        self.check_arguments()

    def changed_so_far(self, run: TaskRun) -> str:
        return state_of_timeline(
            run.table,
            then="Readers see the table as it was before, because orphans belong to no instant; the next run deletes "
            "the remaining orphans.",
        )

    def build_request(
        self, location: TableLocation, request_id: str, result_uri: str
    ) -> RepairOrphansRequest:
        return RepairOrphansRequest(
            **self.common_fields(location, request_id, result_uri),
            execute=not self.preview,
            older_than_hours=self.older_than_hours,
            max_files=self.max_files,
            backup_path=self.backup_path,
        )
