"""Settings of an archive job."""

from dataclasses import dataclass

from hudi_table_services.model.archival import ArchivalOptions
from hudi_table_services.options.locks import LockOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveJobOptions:
    """All that an archive job obeys.

    Attributes:
        archival: what the planner and the writers of archives obey.
        warnings: keys without effect.
    """

    archival: ArchivalOptions
    lock: LockOptions
    warnings: tuple[str, ...] = ()
