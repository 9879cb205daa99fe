"""The part of a result document that one service adds, and its text for logs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

Section: TypeAlias = tuple[str, list[str]]
"""A title and the lines below it; a section without lines is not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Numbers about the work of a job, the same for every service. For previews and failures they are zero.

    Attributes:
        rows: rows inserted, updated or deleted by a write, rewritten by a clustering, or undone.
        files_written, bytes_written: data files that a commit added.
        files_removed: data files deleted from storage, without files that are only replaced by a newer version.
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

    @classmethod
    @abstractmethod
    def from_document(cls, values: Mapping[str, Any]) -> "Report":
        """Build the report from a result document. Raises KeyError, TypeError or ValueError for an invalid document."""

    @abstractmethod
    def summary(self, result: "JobResult") -> str:
        """The result in one line."""

    @abstractmethod
    def sections(self, result: "JobResult") -> list[Section]:
        """Lines for a log, in groups."""

    def figures(self) -> Figures:
        """Work of a job that completed."""
        return Figures()


def outcome_line(result: "JobResult", details: str) -> str:
    """Summary of a job in one line, with its operation and, if it has one, its instant."""
    if result.outcome.value == "nothing_to_do":
        return f"Nothing to do: {result.reason}"
    verb = "Preview, nothing written: " if result.outcome.value == "planned" else ""
    return f"{verb}{result.operation} {result.instant_time or ''}".rstrip() + (
        f": {details}" if details else ""
    )
