"""Words of archival: options, what holds it back, the plan, and instants as an archive keeps them."""

from dataclasses import dataclass

from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.write_stat import CommitMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalOptions:
    """Settings of archival, under Hudi's keys.

    Attributes:
        min_commits: ``hoodie.keep.min.commits``: completed writes that stay on the active timeline.
        max_commits: ``hoodie.keep.max.commits``: nothing is archived up to so many.
        beyond_savepoint: ``hoodie.archive.beyond.savepoint``: go on after the first savepoint; the commits that
            savepoints keep stay.
        batch_size: ``hoodie.commits.archival.batch``: records of a block of version 6's archive, and of a file of the
            history of versions 8 and 9.
        merged_files: ``hoodie.timeline.compaction.batch.size``: files of one level of the history that become one.
        manifests_retained: ``hoodie.timeline.manifest.retained.versions``: readers of older ones may still be at it.
    """

    min_commits: int
    max_commits: int
    beyond_savepoint: bool
    batch_size: int
    merged_files: int
    manifests_retained: int


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ArchivalBound:
    """Instants requested at this time or later stay, and why, in words."""

    time: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalPlan:
    """What leaves the active timeline.

    Attributes:
        instants: completed instants, oldest first.
        commits: completed writes on the active timeline before it.
        wanted: completed writes that would go if nothing held archival back.
        held_back_by: the bound without which more could go; None: nothing does.
        reason: how it came about, in words.
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
        plan: content of the requested file; None: it was empty.
    """

    requested_time: str
    completion_time: str
    action: str
    metadata: bytes | None = None
    plan: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedWrite:
    """A completed write that is no longer on the active timeline, with what it says of itself."""

    instant: Instant
    metadata: CommitMetadata

    @property
    def identity(self) -> tuple[str, Action]:
        return self.instant.identity


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveTail:
    """The newest completed writes of an archive.

    Attributes:
        writes: in order of request.
        since: of those requested later none is missing; empty while ``is_cut``: the archive was too large to be read.
        is_cut: the archive holds more than was read.
    """

    writes: tuple[ArchivedWrite, ...] = ()
    since: str = ""
    is_cut: bool = False
