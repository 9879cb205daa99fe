"""Requests of the jobs that go back: rollback, restore, repair of orphans."""

from dataclasses import dataclass

from hudi_table_services.contract.instant_names import check_instants
from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.errors import InvalidRequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest(JobRequest):
    """Undo instants. What was undone before is passed over, so that the same request can be run again.

    Attributes:
        instants: requested times, in any order: dead writes, or the newest completed ones.
        all_failed: every pending write without a living heartbeat, instead of instants by name.
        preview: tell what would go, and undo nothing.

    Raises:
        InvalidRequestError: a field has no possible value.
    """

    instants: tuple[str, ...] = ()
    all_failed: bool = False
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        check_instants(self.instants)
        if bool(self.instants) == self.all_failed:
            raise InvalidRequestError(
                "The request has to name instants, or to ask for all failed ones; not both.",
                hint="Give --instant or --all-failed.",
            )

    @property
    def work(self) -> str:
        return "rollback"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest(JobRequest):
    """Take the table back to a savepoint: everything since is undone, newest first.

    Attributes:
        savepoint: *required*; requested time of the savepointed commit.
        preview: tell what would go, and undo nothing.

    Raises:
        InvalidRequestError: a field has no possible value.
    """

    savepoint: str = ""
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        if not self.savepoint:
            raise InvalidRequestError("No savepoint is named.", hint="Give --savepoint.")
        check_instants((self.savepoint,))

    @property
    def work(self) -> str:
        return "restore"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOrphansRequest(JobRequest):
    """Find files that belong to no instant, and delete them only if told so.

    Attributes:
        execute: delete; else they are only told.
        older_than_hours: younger files are left alone.
        max_files: more orphans than that are told, and none is deleted.
        backup_path: folder, outside of the table, where data files are copied first; empty: no copies.

    Raises:
        InvalidRequestError: a field has no possible value.
    """

    execute: bool = False
    older_than_hours: int = 24
    max_files: int = 1000
    backup_path: str = ""

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        for name, least in (("older_than_hours", 0), ("max_files", 1)):
            if getattr(self, name) < least:
                raise InvalidRequestError(f"{name} is {getattr(self, name)}, below {least}.")

    @property
    def work(self) -> str:
        return "repair_orphan_files"
