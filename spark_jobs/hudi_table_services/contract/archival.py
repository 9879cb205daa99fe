"""Request and report of the archive job."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_table_services.contract.report import Report, Section, outcome_line
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

ARCHIVAL = "archival"
"""Name of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRequest(JobRequest):
    """Move the oldest completed instants from the active timeline into the archive.

    Attributes:
        min_commits, max_commits: ``hoodie.keep.….commits``. None means the value in the options, or Hudi's default if
            the options contain no value.
        preview: report which instants would be archived, and write nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = ARCHIVAL

    min_commits: int | None = None
    max_commits: int | None = None
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        for name in ("min_commits", "max_commits"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidRequestError(f"{name} is {value}, below 1.")

    @property
    def work(self) -> str:
        return "archive"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveReport(Report):
    """Result of an archive job; in a preview, the expected result.

    Attributes:
        commits_before: number of completed writes on the active timeline before the job.
        archived_commits: number of completed writes that the job archived.
        archived_services: number of cleans and rollbacks that the job archived.
        oldest_active: requested time of the first write that stays active; empty if no write stays active.
        retention: reason for `oldest_active`, in words.
        held_back_by: time of the instant at which archival stopped; empty if no instant stopped archival.
        instants: archived instants, as ``<requested time>.<action>``, oldest first.
        files: new files of the archive, including merged files. They are paths in table version 6 and names in
            versions 8 and 9.
    """

    service: ClassVar[str] = ARCHIVAL

    commits_before: int = 0
    archived_commits: int = 0
    archived_services: int = 0
    oldest_active: str = ""
    retention: str = ""
    held_back_by: str = ""
    instants: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "ArchiveReport":
        fields = dict(values)
        for name in ("instants", "files"):
            fields[name] = tuple(fields[name])
        return cls(**fields)

    def summary(self, result: "JobResult") -> str:
        return outcome_line(result, f"{counted(len(self.instants), 'instant')}; {self.retention}")

    def sections(self, result: "JobResult") -> list[Section]:
        archived = (
            f"{self.archived_commits} of {counted(self.commits_before, 'commit')} and "
            f"{counted(self.archived_services, 'other instant')}"
        )
        stop = [f"Archival stopped at {self.held_back_by}"] if self.held_back_by else []
        return [
            ("Archival", [archived, self.retention, *stop]),
            ("Instants", list(self.instants)),
            ("New files of the archive", list(self.files)),
        ]
