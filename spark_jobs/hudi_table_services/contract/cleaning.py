"""Request and report of the clean job."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_table_services.contract.report import Figures, Report, Section
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.text import NOT_PARTITIONED, counted, did_you_mean, human_bytes
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.cleaning import CleanPolicy

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

CLEANING = "cleaning"
"""Name of the service."""

POLICIES = tuple(policy.value for policy in CleanPolicy)
_WHY_RECORDED = ". The clean is on the timeline to record, for the next clean, the earliest commit to retain"
"""Why a clean without deleted files has an instant, as Hudi's empty cleans do."""

_SHOWN_PARTITIONS = 50
_SHOWN_FILES = 200
_SHOWN_WAITING = 10
_LEAST_ONE = ("commits_retained", "hours_retained", "file_versions_retained", "max_commits_per_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanRequest(JobRequest):
    """Delete file versions that the retention policy no longer keeps for readers.

    Attributes:
        policy: one of `POLICIES`, ``hoodie.clean.policy``. Empty means the value in the options. If the options
            contain no value, a request with exactly one retention setting uses the policy of this setting; all other
            requests use ``KEEP_LATEST_COMMITS``.
        commits_retained, hours_retained, file_versions_retained: ``hoodie.clean.….retained``. None means the value in
            the options, or Hudi's default if the options contain no value.
        max_commits_per_run: ``hoodie.clean.max.commits.to.clean``. None means the value in the options, or no limit
            if the options contain no value.
        preview: report which files would be deleted, and delete nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = CLEANING

    policy: str = ""
    commits_retained: int | None = None
    hours_retained: int | None = None
    file_versions_retained: int | None = None
    max_commits_per_run: int | None = None
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        if self.policy and self.policy not in POLICIES:
            raise InvalidRequestError(
                f"policy is {self.policy!r}, which is not a known value.",
                hint=f"{did_you_mean(self.policy, POLICIES)} Valid values: {', '.join(POLICIES)}.".strip(),
            )
        for name in _LEAST_ONE:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidRequestError(f"{name} is {value}, below 1.", hint="Give a number of at least 1.")

    @property
    def work(self) -> str:
        return "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedPartition:
    """Result of a clean in one partition.

    Attributes:
        file_count, size_bytes: number and size of the files that the clean deleted; in a preview, of the files that a
            clean would delete.
        file_names: in a preview, the names of these files.
        failed_files: names of files that could not be deleted; the next clean tries to delete these files again.
        is_removed: whether the clean also deleted the folder of the partition, because the partition became empty.
    """

    partition_path: str
    file_count: int
    size_bytes: int
    file_names: tuple[str, ...] = ()
    failed_files: tuple[str, ...] = ()
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanReport(Report):
    """Result of a clean job.

    Attributes:
        policy: ``KEEP_LATEST_COMMITS``, ``KEEP_LATEST_BY_HOURS`` or ``KEEP_LATEST_FILE_VERSIONS``.
        earliest_commit_to_retain: requested time of the first commit that stays readable; empty if the policy does not
            define such a commit.
        retention: reason for `earliest_commit_to_retain`, in words.
        blocker: requested time of the pending instant that limits the clean; empty if no instant limits the clean.
        finished: requested times of unfinished cleans of earlier jobs that this job completed.
        rolled_back: requested times of dead writes that the job rolled back before the clean.
        waiting: partitions in which readers, savepoints or pending plans still need outdated files.
        partitions_listed: number of partitions that the job listed.
    """

    service: ClassVar[str] = CLEANING

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

    @property
    def paths(self) -> list[str]:
        """Return the paths of the files in a preview, and an empty list for other results."""
        return [
            f"{each.partition_path}/{name}" if each.partition_path else name
            for each in self.partitions
            for name in each.file_names
        ]

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "CleanReport":
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
        return cls(**fields)

    def figures(self) -> Figures:
        return Figures(files_removed=self.file_count)

    def summary(self, result: "JobResult") -> str:
        files = f"{counted(self.file_count, 'file')}, {human_bytes(self.size_bytes)}"
        if result.is_preview:
            if not self.file_count and result.reason:
                return f"Preview, {result.reason}"
            return f"Preview, nothing deleted: {files} would be deleted"
        if not result.is_completed:
            return f"Nothing to do: {result.reason}"
        if result.reused:
            deleted = counted(self.file_count, "file")
            return f"clean {result.instant_time}: done by an earlier attempt, {deleted} deleted"
        failed = f"; {self.failed_count} could not be deleted" if self.failed_count else ""
        why_not = f": {result.reason}" if not self.file_count and result.reason else ""
        if why_not and result.instant_time and self.earliest_commit_to_retain:
            why_not += _WHY_RECORDED
        return f"clean {result.instant_time or ', '.join(self.finished)}: {files} deleted{failed}{why_not}"

    def sections(self, result: "JobResult") -> list[Section]:
        verb = "would be deleted" if result.is_preview else "deleted"
        partitions = [_partition_line(each, verb) for each in self.partitions[:_SHOWN_PARTITIONS]]
        names = self.paths[:_SHOWN_FILES] if result.is_preview else []
        return [
            ("Retention", self._retention_lines()),
            ("Partitions", partitions),
            ("Files that would be deleted", names),
        ]

    def _retention_lines(self) -> list[str]:
        lines = [f"Policy {self.policy}: {self.retention}"] if self.retention else []
        if self.earliest_commit_to_retain:
            lines.append(f"Every state of the table since {self.earliest_commit_to_retain} stays readable")
        if self.blocker:
            lines.append(f"The pending instant {self.blocker} blocks cleaning")
        waiting = self.waiting[:_SHOWN_WAITING]
        return lines + [f"Outdated files stay for now in {path or NOT_PARTITIONED}" for path in waiting]


def _partition_line(partition: CleanedPartition, verb: str) -> str:
    line = (
        f"{partition.partition_path or NOT_PARTITIONED}: {counted(partition.file_count, 'file')} "
        f"({human_bytes(partition.size_bytes)}) {verb}"
    )
    if partition.is_removed:
        line += ", together with the folder of the partition"
    if partition.failed_files:
        line += f"; {len(partition.failed_files)} could not be deleted; the next clean tries again"
    return line
