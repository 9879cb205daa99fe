"""Roll back, restore, keep savepoints, and remove orphan files."""

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_hudi_provider.operators.upkeep import UpkeepOperator
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import instants_of
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    DeleteSavepointRequest,
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.contract.result import JobResult


class SavepointOperator(UpkeepOperator):
    """Keep the state of a table at a commit: cleaning and archival keep its files, and a restore can return to it.

    A second savepoint of the same commit changes nothing. Returns ``{"instant", "reason", "reused", …}``; `instant`
    names the savepoint.

    .. seealso:: docs/recovery.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param instant: requested time of a completed commit; empty: the newest one. (templated)
    :param saved_by: name stored in the savepoint. (templated)
    :param comments: reason stored in the savepoint. (templated)
    :param preview: report what would be kept, and write nothing.
    :param run_on: ``worker`` or ``spark``; see `CleanOperator`.
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
    """Delete savepoints: cleaning may delete their files from then on.

    .. seealso:: docs/recovery.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param instant: requested times of their commits: one, several, or the answer of a `SavepointOperator`. (templated)
    :param preview: report which savepoints would be deleted, and delete none.
    :param run_on: ``worker`` or ``spark``; see `CleanOperator`.
    """

    script: ClassVar[str] = "delete_savepoint.py"
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, "instant")

    def __init__(self, *, instant: str | Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instant = instant
        self.check_arguments()

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
    """Undo failed writes of a table, or its newest completed ones.

    Writes and cleans undo dead writes by themselves. Use this operator if no write or clean follows, or to undo a
    commit that was a mistake. It never rolls back past a savepoint, and never a write whose writer is alive.
    Returns ``{"undone", "finished", "left_alone", …}``.

    .. seealso:: docs/recovery.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param instant: requested times: one, several, or the answer of a task. (templated)
    :param all_failed: every pending write without a living heartbeat, instead of instants by name.
    :param preview: report what would be undone, and undo nothing.
    :param on_nothing: what it means if there is nothing to undo: ``skip``, ``succeed`` or ``fail``.
    :param run_on: ``worker`` or ``spark``; see `CleanOperator`.
    """

    script: ClassVar[str] = "rollback.py"
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, "instant")

    def __init__(
        self, *, instant: str | Sequence[str] | None = None, all_failed: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.instant = instant
        self.all_failed = all_failed
        self.check_arguments()

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> RollbackRequest:
        return RollbackRequest(
            **self.common_fields(location, request_id, result_uri),
            instants=instants_of(self.instant) if self.instant is not None else (),
            all_failed=self.all_failed,
            preview=self.preview,
        )


class RestoreOperator(UpkeepOperator):
    """Restore a table to a savepoint: all later changes are undone, newest first.

    No writer may run meanwhile. To finish a restore that was ended half-way, run it again; until then no write is
    possible. A task that is cleared after it completed does not undo what was written since.

    .. seealso:: docs/recovery.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param savepoint: requested time of the savepointed commit. (templated)
    :param preview: report which commits, files and rows would be removed, and undo nothing.
    :param run_on: ``worker`` or ``spark``; see `CleanOperator`.
    """

    script: ClassVar[str] = "restore.py"
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, "savepoint")

    def __init__(self, *, savepoint: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.savepoint = savepoint
        self.check_arguments()

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> RestoreRequest:
        return RestoreRequest(
            **self.common_fields(location, request_id, result_uri),
            savepoint=self.savepoint,
            preview=self.preview,
        )


class RepairOperator(UpkeepOperator):
    """Find orphans: files of no instant, which neither cleaning nor rollbacks find. Delete them only on request.

    .. seealso:: docs/recovery.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param preview: only report the files and the reasons; the default. ``False`` deletes them.
    :param older_than_hours: younger files are kept.
    :param max_files: if there are more orphans none is deleted, so that you can check them first.
    :param backup_path: folder outside of the table to which the files are copied first. (templated)
    :param on_nothing: what it means if there are none: ``skip``, ``succeed`` or ``fail``.
    :param run_on: ``worker`` or ``spark``; see `CleanOperator`.
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
