"""The part of a result document that is specific to one service, and its text for logs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from hudi_table_services.contract.result import FileStats, JobResult

Section: TypeAlias = tuple[str, list[str]]
"""A title and the lines below it; logs do not show a section without lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Numbers about the work of a job; every service has the same fields. Previews and failures report zeros.

    Attributes:
        rows: number of rows that a write inserted, updated or deleted, that a clustering rewrote, or that a recovery
            undid.
        files_written, bytes_written: number and size of the data files that a commit added.
        files_removed: number of data files that the job deleted from storage. A file that still exists does not count,
            even if a newer version replaced it.
    """

    rows: int = 0
    files_written: int = 0
    bytes_written: int = 0
    files_removed: int = 0


class Report(ABC):
    """Base of the reports, one class per service. Subclasses are frozen dataclasses of plain values."""

    __slots__ = ()

    service: ClassVar[str]
    """Name of the service."""

    @property
    def live_files(self) -> "FileStats | None":
        """Return numbers about the live base files of the table; None if the report does not contain them."""
        return None

    @classmethod
    @abstractmethod
    def from_document(cls, values: Mapping[str, Any]) -> "Report":
        """Build the report from a result document. Raises KeyError, TypeError or ValueError for an invalid document."""

    @abstractmethod
    def summary(self, result: "JobResult") -> str:
        """Return the result in one line."""

    @abstractmethod
    def sections(self, result: "JobResult") -> list[Section]:
        """Return the result as groups of log lines."""

    def figures(self) -> Figures:
        """Return the work of a completed job in numbers."""
        return Figures()


def outcome_line(result: "JobResult", details: str) -> str:
    """Return the summary of a job in one line, with its operation and, if the job has one, its instant."""
    if result.is_nothing_to_do:
        return f"Nothing to do: {result.reason}"
    verb = "Preview, nothing written: " if result.is_preview else ""
    return f"{verb}{result.operation} {result.instant_time or ''}".rstrip() + (
        f": {details}" if details else ""
    )
