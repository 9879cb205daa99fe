"""Values of cleaning: policies, options, and the files that the planner works on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant


class CleanPolicy(str, Enum):
    """Policy that selects the versions of a file group to keep (HoodieCleaningPolicy)."""

    KEEP_LATEST_COMMITS = "KEEP_LATEST_COMMITS"
    KEEP_LATEST_BY_HOURS = "KEEP_LATEST_BY_HOURS"
    KEEP_LATEST_FILE_VERSIONS = "KEEP_LATEST_FILE_VERSIONS"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanOptions:
    """Settings of a clean. A setting that exists in Hudi has Hudi's key.

    Attributes:
        policy: ``hoodie.clean.policy``.
        commits_retained: ``hoodie.clean.commits.retained``, at least 1.
        hours_retained: ``hoodie.clean.hours.retained``, at least 1.
        file_versions_retained: ``hoodie.clean.fileversions.retained``, at least 1.
        is_incremental: ``hoodie.clean.incremental.enabled``: whether a clean checks only the partitions that changed
            since the previous clean.
        trigger_commits: ``hoodie.clean.trigger.max.commits``: a new clean requires at least this many commits since the
            last clean.
        max_commits_per_run: ``hoodie.clean.max.commits.to.clean``; None means no limit.
        partition_regex: ``hoodie.clean.partition.filter.regex``; None means all partitions.
        partitions_selected: ``hoodie.clean.partition.filter.selected``; empty means all partitions.
        floor_hours: ``hoodie.airflow.clean.floor.hours``: under every policy, a clean keeps files that became outdated
            less than this many hours ago, because queries may still read them.
    """

    policy: CleanPolicy
    commits_retained: int
    hours_retained: int
    file_versions_retained: int
    is_incremental: bool
    trigger_commits: int
    max_commits_per_run: int | None
    partition_regex: str | None
    partitions_selected: tuple[str, ...]
    floor_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFiles:
    """The files of one version of a file group.

    Attributes:
        base_instant_time: requested time of the write that created the version.
        visible_at: instant time from which readers see this version instead of the previous version.
        sizes: maps the names of the base file and the log files to their sizes in bytes.
    """

    base_instant_time: str
    visible_at: str
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroupVersions:
    """All visible versions of a file group.

    Attributes:
        slices: the versions, newest first.
        replaced_by: requested time of the completed replace commit that replaced the file group; None if no replace
            commit replaced it.
        replaced_at: instant time from which readers see the replacement; empty if the file group was not replaced.
    """

    file_group_id: FileGroupId
    slices: tuple[SliceFiles, ...]
    replaced_by: str | None = None
    replaced_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFiles:
    """Files of one partition before a clean.

    Attributes:
        groups: file groups with visible versions.
        has_other_files: whether the partition also contains files of pending writes, orphans, or files that Hudi did
            not write.
    """

    partition_path: str
    groups: tuple[FileGroupVersions, ...]
    has_other_files: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFiles:
    """Files that no policy may delete.

    Attributes:
        savepointed: names of the files in the metadata of savepoints.
        planned: names of the files that pending clusterings and compactions will read.
    """

    savepointed: frozenset[str] = frozenset()
    planned: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return self.savepointed | self.planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The earliest point in time whose state stays readable after a clean. All later states stay readable, too.

    Attributes:
        earliest: the earliest completed write whose state a time-travel query can still read. None if the policy counts
            versions, or if no commit is old enough for a deletion.
        blocker: the pending instant that prevents the clean from deleting more files.
        reason: explanation of the choice.
    """

    earliest: Instant | None
    blocker: Instant | None = None
    reason: str = ""


class PartitionChoice(Enum):
    """Partitions that a clean checks for outdated files."""

    ALL = "all"
    CHANGED = "changed since the last clean"
    NONE = "none, because the policy keeps every file"
    SELECTED = "selected by the options"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPartitions:
    """The partitions that a clean has checked for outdated files."""

    choice: PartitionChoice
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFiles:
    """Numbers of outdated files that a clean keeps, by reason.

    Attributes:
        by_policy: files that the retention policy keeps.
        for_queries: files that became outdated so recently that running queries may read them.
        pinned: other files that savepoints or pending plans need.
    """

    by_policy: int = 0
    for_queries: int = 0
    pinned: int = 0

    @property
    def count(self) -> int:
        return self.by_policy + self.for_queries + self.pinned

    def __add__(self, other: "KeptFiles") -> "KeptFiles":
        return KeptFiles(
            by_policy=self.by_policy + other.by_policy,
            for_queries=self.for_queries + other.for_queries,
            pinned=self.pinned + other.pinned,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesToDelete:
    """The files that a clean deletes from one partition.

    Attributes:
        sizes: maps the name of each file to its size in bytes.
        is_emptied: whether no file of the table stays in the partition.
        kept: numbers of the outdated files that the clean keeps.
    """

    partition_path: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    is_emptied: bool = False
    kept: KeptFiles = field(default_factory=KeptFiles)

    @property
    def waits(self) -> bool:
        """Whether the clean keeps files, although the policy permits their deletion."""
        return self.kept.count > self.kept.by_policy
