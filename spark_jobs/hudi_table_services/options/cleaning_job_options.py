"""Settings of a clean job."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_table_services.model.cleaning import CleanOptions
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings
from hudi_table_services.options.writing_values import FailedWritesPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanJobOptions:
    """All options of a clean job.

    Attributes:
        clean: settings of the planner.
        failed_writes: decides which dead writes the job rolls back before it cleans.
        parallelism: number of threads that delete files.
        lock: settings of the table lock.
        metadata: options of the metadata table.
        hoodie_options: all keys of the request, including its typed arguments.
        warnings: one sentence for each key that has no effect.
    """

    clean: CleanOptions
    failed_writes: FailedWritesPolicy
    parallelism: int
    lock: LockOptions
    metadata: MetadataTableSettings
    hoodie_options: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
