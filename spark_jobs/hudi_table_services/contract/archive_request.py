"""Request of the archive job."""

from dataclasses import dataclass

from hudi_table_services.contract.job_request import JobRequest
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
