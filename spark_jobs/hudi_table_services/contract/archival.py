"""Request of the archive job."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import InvalidRequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRequest(JobRequest):
    """Move the oldest completed instants from the active timeline into the archive.

    Attributes:
        min_commits, max_commits: ``hoodie.keep.….commits``; None: that of the options, else Hudi's default.
        preview: tell what would go, and write nothing.

    Raises:
        InvalidRequestError: a field has no possible value.
    """

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
class ArchiveReport:
    """What an archive job did, or, in a preview, would do.

    Attributes:
        commits_before: completed writes on the active timeline before it.
        archived_commits: completed writes that left it.
        archived_services: cleans and rollbacks that left it.
        oldest_active: requested time of the first write that stays; empty: there is none.
        retention: how that came about, in words.
        held_back_by: instant time at which archival had to stop; empty: nothing held it back.
        instants: what left, as ``<requested time>.<action>``, oldest first.
        files: the archive's new files, merged ones among them: paths in version 6, names in 8 and 9.
    """

    commits_before: int = 0
    archived_commits: int = 0
    archived_services: int = 0
    oldest_active: str = ""
    retention: str = ""
    held_back_by: str = ""
    instants: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def archive_report_from_document(values: Mapping[str, Any]) -> ArchiveReport:
    """The report of a result document. Raises KeyError or TypeError where it is none."""
    fields = dict(values)
    for name in ("instants", "files"):
        fields[name] = tuple(fields[name])
    return ArchiveReport(**fields)
