"""Request of the clean job."""

from dataclasses import dataclass

from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clean import CleanPolicy

POLICIES = tuple(policy.value for policy in CleanPolicy)
_LEAST_ONE = ("commits_retained", "hours_retained", "file_versions_retained", "max_commits_per_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanRequest(JobRequest):
    """Delete versions of files that no reader may ask for any more.

    Attributes:
        policy: one of `POLICIES`, ``hoodie.clean.policy``; empty: that of the options, else by the retention given.
        commits_retained, hours_retained, file_versions_retained: ``hoodie.clean.….retained``; None: that of the
            options, else Hudi's default.
        max_commits_per_run: ``hoodie.clean.max.commits.to.clean``; None: that of the options, else no limit.
        preview: tell what would go, and delete nothing.

    Raises:
        InvalidRequestError: a field has no possible value.
    """

    policy: str = ""
    commits_retained: int | None = None
    hours_retained: int | None = None
    file_versions_retained: int | None = None
    max_commits_per_run: int | None = None
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        if self.policy and self.policy not in POLICIES:
            raise InvalidRequestError(f"policy is {self.policy!r}.", hint=f"Known: {', '.join(POLICIES)}.")
        for name in _LEAST_ONE:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidRequestError(f"{name} is {value}, below 1.")

    @property
    def work(self) -> str:
        return "clean"
