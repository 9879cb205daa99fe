"""Request of the clean job."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hudi_table_services.contract.request import JobRequest
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedPartition:
    """One partition path.

    Attributes:
        file_count, size_bytes: files deleted, or, in a preview, that would be.
        file_names: in previews their names.
        failed_files: names of files that storage would not delete; the next clean tries again.
        is_removed: nothing was left, so the folder went too.
    """

    partition_path: str
    file_count: int
    size_bytes: int
    file_names: tuple[str, ...] = ()
    failed_files: tuple[str, ...] = ()
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanReport:
    """What a clean job did.

    Attributes:
        policy: ``KEEP_LATEST_COMMITS``, ``KEEP_LATEST_BY_HOURS`` or ``KEEP_LATEST_FILE_VERSIONS``.
        earliest_commit_to_retain: from where on everything stays readable; empty: the policy has none.
        retention: how that came about, in words.
        blocker: requested time of the pending instant without which more could be cleaned; empty: none.
        finished: requested times of cleans that an earlier job had left pending.
        rolled_back: requested times of dead writes that were rolled back first.
        waiting: partitions in which outdated files stay for readers, savepoints or pending plans.
        partitions_listed: partitions that were looked at.
    """

    policy: str
    earliest_commit_to_retain: str = ""
    retention: str = ""
    blocker: str = ""
    partitions: tuple[CleanedPartition, ...] = ()
    finished: tuple[str, ...] = ()
    rolled_back: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    partitions_listed: int = 0

    @property
    def file_count(self) -> int:
        return sum(each.file_count for each in self.partitions)

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.partitions)

    @property
    def failed_count(self) -> int:
        return sum(len(each.failed_files) for each in self.partitions)


def clean_report_from_document(values: Mapping[str, Any]) -> CleanReport:
    """The report of a result document. Raises KeyError or TypeError where it is none."""
    fields = dict(values)
    fields["partitions"] = tuple(
        CleanedPartition(
            **{
                **each,
                "file_names": tuple(each["file_names"]),
                "failed_files": tuple(each["failed_files"]),
            }
        )
        for each in fields["partitions"]
    )
    for name in ("finished", "rolled_back", "waiting"):
        fields[name] = tuple(fields[name])
    return CleanReport(**fields)
