"""Options of the clustering jobs, typed; made from Hudi's keys by `contract.clustering_options`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_table_services.model.clustering import ClusteringOptions, CommitGate
from hudi_table_services.options.base_files import BaseFileOptions
from hudi_table_services.options.locks import LockOptions

DEFAULT_TASK_MEMORY_BYTES = 512 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringJobOptions:
    """Everything a request may ask of scheduling, executing or cancelling a clustering.

    Attributes:
        gates: all of them must let a plan pass.
        names_target: whether the request itself says how large files should be; else a plan's own target counts.
        task_memory_bytes: Arrow bytes that a Spark task sorts at once; larger groups are exchanged in files.
        expires_after_minutes: age at which a pending plan without a living executor counts as abandoned.
        cancels_expired: whether scheduling cancels such plans first.
        wait_seconds: how long an execution waits for another one of the same plan.
        lock: settings of the table lock.
        metadata_enable: False switches an active metadata table off; None: refuse such a table.
        hoodie_options: all keys of the request, typed arguments included.
        warnings: for each key that is known and has no effect here, one sentence.
    """

    plan: ClusteringOptions = field(default_factory=ClusteringOptions)
    gates: tuple[CommitGate, ...] = ()
    names_target: bool = False
    base_files: BaseFileOptions = field(default_factory=BaseFileOptions)
    task_memory_bytes: int = DEFAULT_TASK_MEMORY_BYTES
    expires_after_minutes: int = 60
    cancels_expired: bool = False
    wait_seconds: int = 600
    lock: LockOptions = field(default_factory=LockOptions)
    metadata_enable: bool | None = None
    staging_path: str = ".hoodie/.aux/staging"
    hoodie_options: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
