"""Requests of the savepoint jobs."""

from dataclasses import dataclass

from hudi_table_services.contract.instant_names import check_instants
from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.errors import InvalidRequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSavepointRequest(JobRequest):
    """Keep the table as of a commit: its files are not cleaned, and a restore can go back to it.

    Attributes:
        instant: requested time of a completed commit; empty: the newest one.
        saved_by: who asks, for those who look at savepoints later.
        comments: what for.
        preview: tell which files would be kept, and write nothing.

    Raises:
        InvalidRequestError: a field has no possible value.
    """

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
    """Let go of savepoints: cleaning may take their files from then on.

    Attributes:
        instants: requested times of their commits.
        preview: tell which would go, and delete nothing.

    Raises:
        InvalidRequestError: a field has no possible value.
    """

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
