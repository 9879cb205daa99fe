"""Settings of a clean job."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_table_services.model.cleaning import CleanOptions
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.writing_values import FailedWritesPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanJobOptions:
    """Everything a request may ask of a clean job.

    Attributes:
        clean: settings of the planner.
        failed_writes: dead writes that are rolled back first.
        parallelism: files deleted at once.
        metadata_enable: False: switch an active metadata table off; None: refuse such a table.
        warnings: keys without effect.
    """

    clean: CleanOptions
    failed_writes: FailedWritesPolicy
    parallelism: int
    lock: LockOptions
    metadata_enable: bool | None
    hoodie_options: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
