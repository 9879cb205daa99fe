"""Values of archival: options, bounds, the plan, and archived instants."""

from dataclasses import dataclass

from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalOptions:
    """Settings of archival, under Hudi's keys.

    Attributes:
        min_commits: ``hoodie.keep.min.commits``: number of completed writes that stay on the active timeline.
        max_commits: ``hoodie.keep.max.commits``: archival starts only if the active timeline has more
            completed writes than this number.
        beyond_savepoint: ``hoodie.archive.beyond.savepoint``: whether archival also archives writes after the first
            savepoint. Commits with a savepoint always stay on the active timeline.
        batch_size: ``hoodie.commits.archival.batch``: number of records per block of the archive in table version 6,
            and per file of the history in table versions 8 and 9.
        merged_files: ``hoodie.timeline.compaction.batch.size``: number of files of one history level that are merged
            into one file.
        manifests_retained: ``hoodie.timeline.manifest.retained.versions``: number of manifests that are kept. Readers
            may still use a manifest that is not the newest one.
    """

    min_commits: int
    max_commits: int
    beyond_savepoint: bool
    batch_size: int
    merged_files: int
    manifests_retained: int


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ArchivalBound:
    """A limit of archival: instants requested at or after `time` stay on the active timeline. `reason` says why."""

    time: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalPlan:
    """The instants to archive.

    Attributes:
        instants: completed instants to archive, oldest first.
        commits: number of completed writes on the active timeline before archival.
        wanted: number of completed writes that would be archived if there were no bound.
        held_back_by: the bound that prevents archival of more instants; None if there is no such bound.
        reason: explanation of the plan.
    """

    instants: tuple[Instant, ...]
    commits: int
    wanted: int
    held_back_by: ArchivalBound | None
    reason: str

    @property
    def writes(self) -> tuple[Instant, ...]:
        return tuple(i for i in self.instants if i.action.writes_data)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One completed instant in the history of table versions 8 and 9 (HoodieLSMTimelineInstant).

    Attributes:
        metadata: content of the completed file.
        plan: content of the requested file; None if the file was empty.
    """

    requested_time: str
    completion_time: str
    action: str
    metadata: bytes | None = None
    plan: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedWrite:
    """A completed write from the archive, with its commit metadata."""

    instant: Instant
    metadata: CommitMetadata

    @property
    def identity(self) -> tuple[str, Action]:
        return self.instant.identity


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedOperation:
    """A completed write from the archive, with its operation instead of all its metadata."""

    instant: Instant
    operation: WriteOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveTail:
    """The newest completed writes of an archive.

    Attributes:
        writes: the writes, ordered by requested time.
        since: `writes` contains every write that was requested after this time. If this field is empty and `is_cut` is
            True, the archive was too large to be read.
        is_cut: whether the archive contains more writes than the job read.
    """

    writes: tuple[ArchivedWrite, ...] = ()
    since: str = ""
    is_cut: bool = False
