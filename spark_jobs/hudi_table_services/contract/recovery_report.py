"""What jobs that go back tell: which instants and files went, and what was left alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
class RecoveryReport:
    """What a rollback or a restore did.

    Attributes:
        savepoint: where a restore went; empty for rollbacks.
        undone: instants, newest first.
        finished: requested times of rollbacks and restores that somebody had begun and not finished.
        left_alone: sentences: failed writes that were not undone, and why.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanFile:
    """A file that belongs to no instant. `path` is relative to the base path, `reason` in words."""

    path: str
    size_bytes: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanReport:
    """What a search for orphans found and did.

    Attributes:
        file_count, size_bytes: data files that belong to no instant, and are old enough.
        by_reason: reason → files.
        files: the first thousand of them.
        folders: markers and staged rows of jobs that are over.
        heartbeats: requested times whose heartbeats nobody refreshes any more.
        too_young: orphans that were left alone for their age.
        spared: paths that turned out to be needed, or changed, right before they were to be deleted.
        failed_files: paths that storage would not delete.
        deleted_count: data files deleted.
        backup_path: where they were copied first; empty: nowhere.
        folders_listed: folders that were looked at.
        foreign_files: files in partitions that are no files of Hudi's, hidden ones aside. They are never touched.
    """

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


def recovery_report_from_document(values: Mapping[str, Any]) -> RecoveryReport:
    """The report of a result document. Raises KeyError or TypeError where it is none."""
    fields = {**values, "finished": tuple(values["finished"]), "left_alone": tuple(values["left_alone"])}
    fields["undone"] = tuple(
        UndoneInstant(**{**each, "file_names": tuple(each["file_names"])}) for each in values["undone"]
    )
    return RecoveryReport(**fields)


def orphan_report_from_document(values: Mapping[str, Any]) -> OrphanReport:
    """The report of a result document. Raises KeyError or TypeError where it is none."""
    lists = ("folders", "heartbeats", "spared", "failed_files")
    fields = {**values, **{name: tuple(values[name]) for name in lists}}
    fields["files"] = tuple(OrphanFile(**each) for each in values["files"])
    return OrphanReport(**fields)
