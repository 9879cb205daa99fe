"""Words of cleaning: policies, options, and what a planner sees of the files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant


class CleanPolicy(str, Enum):
    """Which versions of a file group are kept (HoodieCleaningPolicy)."""

    KEEP_LATEST_COMMITS = "KEEP_LATEST_COMMITS"
    KEEP_LATEST_BY_HOURS = "KEEP_LATEST_BY_HOURS"
    KEEP_LATEST_FILE_VERSIONS = "KEEP_LATEST_FILE_VERSIONS"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanOptions:
    """Settings of a clean, under Hudi's keys where Hudi has one.

    Attributes:
        policy: ``hoodie.clean.policy``.
        commits_retained: ``hoodie.clean.commits.retained``, at least 1.
        hours_retained: ``hoodie.clean.hours.retained``, at least 1.
        file_versions_retained: ``hoodie.clean.fileversions.retained``, at least 1.
        is_incremental: ``hoodie.clean.incremental.enabled``: look only at partitions that changed since the last clean.
        trigger_commits: ``hoodie.clean.trigger.max.commits``: plan after as many commits since the last clean.
        max_commits_per_run: ``hoodie.clean.max.commits.to.clean``; None: no limit.
        partition_regex: ``hoodie.clean.partition.filter.regex``; None: all.
        partitions_selected: ``hoodie.clean.partition.filter.selected``; empty: all.
        floor_hours: ``hoodie.airflow.clean.floor.hours``: what became outdated within so many hours stays, whatever the
            policy says, for queries that still read it.
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
        base_instant_time: requested time of the write that made it.
        visible_at: instant time at which readers began to see it, and stopped to see the version before.
        sizes: file name → bytes, base file and log files.
    """

    base_instant_time: str
    visible_at: str
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroupVersions:
    """All visible versions of a file group.

    Attributes:
        slices: newest first.
        replaced_by: requested time of the completed replace commit that took the group out; None: it is live.
        replaced_at: instant time at which readers began to see that; empty where it is live.
    """

    file_group_id: FileGroupId
    slices: tuple[SliceFiles, ...]
    replaced_by: str | None = None
    replaced_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFiles:
    """One partition as a clean finds it.

    Attributes:
        groups: file groups with visible versions.
        has_other_files: files of pending writes, leftovers, or files that are not Hudi's.
    """

    partition_path: str
    groups: tuple[FileGroupVersions, ...]
    has_other_files: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFiles:
    """Files that no policy may delete.

    Attributes:
        savepointed: names, by the savepoints' own metadata.
        planned: names of files that pending clusterings and compactions are going to read.
    """

    savepointed: frozenset[str] = frozenset()
    planned: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return self.savepointed | self.planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """From where on a clean keeps everything.

    Attributes:
        earliest: the earliest completed write that time travel still reaches; None: nothing is cleaned by commits,
            or the policy counts versions.
        blocker: the pending instant without which more could be cleaned.
        reason: how it came about, in words.
    """

    earliest: Instant | None
    blocker: Instant | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoomedFiles:
    """What a clean takes out of one partition.

    Attributes:
        sizes: file name → bytes.
        is_emptied: nothing of the table stays in the partition.
        waits: files are outdated by the policy, and stay for readers, savepoints or pending plans.
    """

    partition_path: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    is_emptied: bool = False
    waits: bool = False
