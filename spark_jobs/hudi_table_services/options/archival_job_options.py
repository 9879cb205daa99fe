"""Settings of an archive job."""

from dataclasses import dataclass

from hudi_table_services.model.archival import ArchivalOptions
from hudi_table_services.options.locks import LockOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveJobOptions:
    """All options of an archive job.

    Attributes:
        archival: settings of the planner and of the archive writers.
        delta_commits: ``hoodie.compact.inline.max.delta.commits``: number of delta commits since the last compaction
            that archival leaves on the active timeline, so that the next compaction becomes due. Only for merge-on-read
            tables.
        lock: settings of the table lock.
        warnings: one sentence for each key that has no effect.
    """

    archival: ArchivalOptions
    delta_commits: int
    lock: LockOptions
    warnings: tuple[str, ...] = ()
