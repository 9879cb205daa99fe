"""Settings of an archive job."""

from dataclasses import dataclass

from hudi_table_services.model.archival import ArchivalOptions
from hudi_table_services.options.locks import LockOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveJobOptions:
    """Everything a request may ask of an archive job.

    Attributes:
        archival: settings of the planner and of the writers of archives.
        warnings: keys without effect.
    """

    archival: ArchivalOptions
    lock: LockOptions
    warnings: tuple[str, ...] = ()
