"""Requests and reports of rollback, restore, savepoints and the repair of orphans."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_table_services.contract.report import Figures, Report, Section, outcome_line
from hudi_table_services.contract.request import JobRequest, check_instants
from hudi_table_services.contract.text import human_bytes
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

RECOVERY, SAVEPOINTS, ORPHANS = "recovery", "savepoints", "orphans"
"""Names of the services."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest(JobRequest):
    """Undo instants. The job skips instants that are already undone, so the same request can be run again.

    Attributes:
        instants: requested times, in any order: dead writes, or the newest completed ones.
        all_failed: every pending write without a living heartbeat, instead of instants by name.
        preview: report what would be undone, and undo nothing.

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
        preview: report what would be undone, and undo nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = RECOVERY

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
    """Find files that belong to no instant; delete them only if the request says so.

    Attributes:
        execute: delete the files; False: only report them.
        older_than_hours: younger files are left alone.
        max_files: if there are more orphans, report them and delete none.
        backup_path: folder, outside of the table, where data files are copied first; empty: no copies.

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
                raise InvalidRequestError(f"{name} is {getattr(self, name)}, below {least}.")

    @property
    def work(self) -> str:
        return "repair_orphan_files"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneInstant:
    """An instant that was undone, or, in a preview, would be.

    Attributes:
        instant_time: requested time.
        action, state: as they were.
        operation: write operation of a completed one; empty: it is not known.
        file_count, size_bytes: its files that were there.
        row_count: rows that a completed one inserted, updated or deleted.
        file_names: in previews the paths of its files, at most a hundred.
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
    """What a rollback or a restore did.

    Attributes:
        savepoint: where a restore went; empty for rollbacks.
        undone: instants, newest first.
        finished: requested times of rollbacks and restores that another job had begun and not finished.
        left_alone: sentences: failed writes that were not undone, and why.
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
        counts = f"{len(self.undone)} instants, {self.file_count} files, {self.row_count} rows"
        return outcome_line(result, counts)

    def sections(self, result: "JobResult") -> list[Section]:
        undone = [
            f"{each.instant_time} {each.action} {each.state}{f', {each.operation}' if each.operation else ''}: "
            f"{each.file_count} files ({human_bytes(each.size_bytes)}), {each.row_count} rows"
            for each in self.undone
        ]
        return [
            ("Would be undone" if result.is_preview else "Undone", undone),
            ("Files that would go", [name for each in self.undone for name in each.file_names]),
            ("Finished first", list(self.finished)),
            ("Left alone", list(self.left_alone)),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanFile:
    """A file that belongs to no instant. `path` is relative to the base path, `reason` in words."""

    path: str
    size_bytes: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanReport(Report):
    """What a search for orphans found and did.

    Attributes:
        file_count, size_bytes: data files that belong to no instant, and are old enough.
        by_reason: reason → files.
        files: the first thousand of them.
        folders: markers and staged rows of jobs that are over.
        heartbeats: requested times whose heartbeats are no longer refreshed.
        too_young: orphans that were left alone for their age.
        spared: paths that turned out to be needed, or changed, right before they were to be deleted.
        failed_files: paths that storage would not delete.
        deleted_count: data files deleted.
        backup_path: where they were copied first; empty: nowhere.
        folders_listed: number of folders that the job listed.
        foreign_files: files in partitions that do not belong to Hudi, without hidden files. No job changes or deletes
            them.
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
        found = f"{self.file_count} orphans ({human_bytes(self.size_bytes)})"
        return outcome_line(result, f"{found}, {self.deleted_count} deleted")

    def sections(self, result: "JobResult") -> list[Section]:
        files = [f"{each.path} ({human_bytes(each.size_bytes)}): {each.reason}" for each in self.files]
        reasons = [f"{count} files: {reason}" for reason, count in sorted(self.by_reason.items())]
        foreign = [str(self.foreign_files)] if self.foreign_files else []
        return [
            ("Orphans by reason", reasons),
            ("Orphans", files),
            ("Folders of jobs that are over", [*self.folders, *self.heartbeats]),
            ("Spared at the last look", list(self.spared)),
            ("Not deleted", list(self.failed_files)),
            ("Foreign files in partitions, never touched", foreign),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSavepointRequest(JobRequest):
    """Keep the table as of a commit: its files are not cleaned, and a restore can go back to it.

    Attributes:
        instant: requested time of a completed commit; empty: the newest one.
        saved_by: person or task that asks for the savepoint, stored for later readers of the savepoint.
        comments: what for.
        preview: report which files would be kept, and write nothing.

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
    """Delete savepoints: cleaning may delete their files from then on.

    Attributes:
        instants: requested times of their commits.
        preview: report which would be deleted, and delete nothing.

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
            raise InvalidRequestError("No savepoint is named.", hint="Give --instant.")

    @property
    def work(self) -> str:
        return "delete_savepoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointReport(Report):
    """Report of a savepoint job. It has no fields, since the result names the instant and gives the reason."""

    service: ClassVar[str] = SAVEPOINTS

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "SavepointReport":
        return cls(**values)

    def summary(self, result: "JobResult") -> str:
        return outcome_line(result, result.reason)

    def sections(self, result: "JobResult") -> list[Section]:
        return []
