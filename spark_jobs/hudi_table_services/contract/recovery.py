"""Requests and reports of rollback, restore, savepoints and the repair of orphans."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_table_services.contract.report import Figures, Report, Section, outcome_line
from hudi_table_services.contract.request import JobRequest, check_instants
from hudi_table_services.contract.text import counted, human_bytes
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

_LISTS_SAVEPOINTS = "`hudi-services show timeline TABLE` lists the savepoints of a table."
RECOVERY, SAVEPOINTS, ORPHANS = "recovery", "savepoints", "orphans"
"""Names of the services."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest(JobRequest):
    """Roll back instants. Instants that are already rolled back are skipped, so the same request can run again.

    Attributes:
        instants: requested times of dead writes or of the newest completed instants, in any order.
        all_failed: roll back every pending write without a fresh heartbeat. Cannot be combined with `instants`.
        preview: report which instants would be undone, and undo nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = RECOVERY

    instants: tuple[str, ...] = ()
    all_failed: bool = False
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        check_instants(self.instants)
        if not self.instants and not self.all_failed:
            raise InvalidRequestError(
                "The request names neither instants nor all failed writes.",
                hint="Give --instant or --all-failed, in Airflow instant or all_failed=True.",
            )
        if self.instants and self.all_failed:
            # The text contains the names of both fields, which the command replaces by its flags.
            raise InvalidRequestError(
                "instants and all_failed are both given.", hint="Leave out one of the two."
            )

    @property
    def work(self) -> str:
        return "rollback"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest(JobRequest):
    """Restore the table to a savepoint: undo all instants after the savepointed commit, newest first.

    Attributes:
        savepoint: *required*; requested time of the savepointed commit.
        preview: report which instants would be undone, and undo nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = RECOVERY

    savepoint: str = ""
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        if not self.savepoint:
            raise InvalidRequestError("No savepoint is named.", hint=f"Give --savepoint. {_LISTS_SAVEPOINTS}")
        check_instants((self.savepoint,))

    @property
    def work(self) -> str:
        return "restore"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOrphansRequest(JobRequest):
    """Find files that belong to no instant. With `execute`, also delete these files.

    Attributes:
        execute: delete the files. False means that the job only reports the files.
        older_than_hours: minimum age of the files to delete; younger files are kept.
        max_files: maximum number of orphans to delete. If there are more orphans, the job reports all orphans and
            deletes none of them.
        backup_path: folder outside the table. The job copies data files to this folder before it deletes them. Empty
            means no copies.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = ORPHANS

    execute: bool = False
    older_than_hours: int = 24
    max_files: int = 1000
    backup_path: str = ""

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        for name, least in (("older_than_hours", 0), ("max_files", 1)):
            if getattr(self, name) < least:
                raise InvalidRequestError(
                    f"{name} is {getattr(self, name)}, below {least}.",
                    hint=f"Give a number of at least {least}.",
                )

    @property
    def work(self) -> str:
        return "repair_orphan_files"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneInstant:
    """An instant that the job undid; in a preview, an instant that the job would undo.

    Attributes:
        instant_time: requested time.
        action, state: action and state before the rollback.
        operation: write operation of a completed instant; empty if unknown.
        file_count, size_bytes: number and total size of the existing files of the instant.
        row_count: number of rows that a completed instant inserted, updated or deleted.
        file_names: in a preview, the paths of the files of the instant, at most a hundred.
    """

    instant_time: str
    action: str
    state: str
    operation: str = ""
    file_count: int = 0
    size_bytes: int = 0
    row_count: int = 0
    file_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryReport(Report):
    """Result of a rollback or a restore.

    Attributes:
        savepoint: requested time of the restored savepoint; empty for rollbacks.
        undone: instants that the job undid, newest first.
        finished: requested times of rollbacks and restores that other jobs left pending and that this job completed.
        left_alone: sentences about pending writes that the job did not undo because they may still run or, in a preview
            of a restore, about unfinished restores.
    """

    service: ClassVar[str] = RECOVERY

    savepoint: str = ""
    undone: tuple[UndoneInstant, ...] = ()
    finished: tuple[str, ...] = ()
    left_alone: tuple[str, ...] = ()

    @property
    def file_count(self) -> int:
        return sum(each.file_count for each in self.undone)

    @property
    def row_count(self) -> int:
        return sum(each.row_count for each in self.undone)

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "RecoveryReport":
        fields = {name: tuple(values[name]) for name in ("finished", "left_alone")}
        undone = (
            UndoneInstant(**{**each, "file_names": tuple(each["file_names"])}) for each in values["undone"]
        )
        return cls(**{**values, **fields, "undone": tuple(undone)})

    def figures(self) -> Figures:
        return Figures(rows=self.row_count, files_removed=self.file_count)

    def summary(self, result: "JobResult") -> str:
        if result.reused:
            return outcome_line(result, result.reason)
        files, rows = counted(self.file_count, "file"), counted(self.row_count, "row")
        return outcome_line(result, f"{counted(len(self.undone), 'instant')}, {files}, {rows}")

    def sections(self, result: "JobResult") -> list[Section]:
        undone = [
            f"{each.instant_time} {each.action} {each.state}{f', {each.operation}' if each.operation else ''}: "
            f"{counted(each.file_count, 'file')} ({human_bytes(each.size_bytes)}), {counted(each.row_count, 'row')}"
            for each in self.undone
        ]
        return [
            ("Would be undone" if result.is_preview else "Undone", undone),
            ("Files that would be deleted", [name for each in self.undone for name in each.file_names]),
            ("Pending rollbacks and restores that the job completed first", list(self.finished)),
            ("Not undone", list(self.left_alone)),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanFile:
    """A file that belongs to no instant. `path` is relative to the base path."""

    path: str
    size_bytes: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanReport(Report):
    """Result of a search for orphans.

    Attributes:
        file_count, size_bytes: number and size of the data files that belong to no instant and are old enough to be
            deleted.
        by_reason: maps each reason to the number of files with this reason.
        files: the first thousand of the files that `file_count` counts.
        folders: folders that contain markers or staged rows of ended jobs.
        heartbeats: requested times of instants whose heartbeats are no longer refreshed.
        too_young: number of orphans whose age is below the minimum age.
        spared: paths of files that the job kept, because its last check found that the file is needed or has changed.
        failed_files: paths of files that could not be deleted.
        deleted_count: number of deleted data files.
        backup_path: folder of the copies; empty if the job made no copies.
        folders_listed: number of folders that the job listed.
        foreign_files: number of files that are in partition folders but were not written by Hudi; hidden files do not
            count. The job never changes foreign files.
    """

    service: ClassVar[str] = ORPHANS

    file_count: int = 0
    size_bytes: int = 0
    by_reason: Mapping[str, int] = field(default_factory=dict)
    files: tuple[OrphanFile, ...] = ()
    folders: tuple[str, ...] = ()
    heartbeats: tuple[str, ...] = ()
    too_young: int = 0
    spared: tuple[str, ...] = ()
    failed_files: tuple[str, ...] = ()
    deleted_count: int = 0
    backup_path: str = ""
    folders_listed: int = 0
    foreign_files: int = 0

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "OrphanReport":
        lists = ("folders", "heartbeats", "spared", "failed_files")
        fields = {**values, **{name: tuple(values[name]) for name in lists}}
        return cls(**{**fields, "files": tuple(OrphanFile(**each) for each in values["files"])})

    def figures(self) -> Figures:
        return Figures(files_removed=self.deleted_count)

    def summary(self, result: "JobResult") -> str:
        found = f"{counted(self.file_count, 'orphan')} ({human_bytes(self.size_bytes)})"
        return outcome_line(result, f"{found}, {self.deleted_count} deleted")

    def sections(self, result: "JobResult") -> list[Section]:
        files = [f"{each.path} ({human_bytes(each.size_bytes)}): {each.reason}" for each in self.files]
        reasons = [f"{counted(count, 'file')}: {reason}" for reason, count in sorted(self.by_reason.items())]
        foreign = [str(self.foreign_files)] if self.foreign_files else []
        return [
            ("Orphans by reason", reasons),
            ("Orphans", files),
            ("Folders and heartbeats of jobs that have ended", [*self.folders, *self.heartbeats]),
            ("Kept after the last check", list(self.spared)),
            ("Not deleted", list(self.failed_files)),
            ("Foreign files in partitions, never touched", foreign),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSavepointRequest(JobRequest):
    """Create a savepoint: cleaning keeps the files of the commit, and a restore can return the table to the commit.

    Attributes:
        instant: requested time of a completed commit. Empty means the newest commit.
        saved_by: author; the savepoint contains this text.
        comments: purpose; the savepoint contains this text.
        preview: report which files the savepoint would keep, and write nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = SAVEPOINTS

    instant: str = ""
    saved_by: str = ""
    comments: str = ""
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        if self.instant:
            check_instants((self.instant,))

    @property
    def work(self) -> str:
        return "create_savepoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSavepointRequest(JobRequest):
    """Delete savepoints. After that, cleaning may delete the files that the savepoints kept.

    Attributes:
        instants: requested times of the savepointed commits.
        preview: report which savepoints would be deleted, and delete nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = SAVEPOINTS

    instants: tuple[str, ...] = ()
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        check_instants(self.instants)
        if not self.instants:
            raise InvalidRequestError("No savepoint is named.", hint=f"Give --instant. {_LISTS_SAVEPOINTS}")

    @property
    def work(self) -> str:
        return "delete_savepoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointReport(Report):
    """Report of a savepoint job. It has no fields, because the result contains the instant and the reason."""

    service: ClassVar[str] = SAVEPOINTS

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "SavepointReport":
        return cls(**values)

    def summary(self, result: "JobResult") -> str:
        return outcome_line(result, result.reason)

    def sections(self, result: "JobResult") -> list[Section]:
        return []
