"""Typed options of the clustering jobs; `options.clustering` makes them from Hudi's keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_table_services.model.clustering import ClusteringOptions, CommitGate
from hudi_table_services.options.base_files import BaseFileOptions
from hudi_table_services.options.keys.clustering import (
    ENABLE_EXPIRATIONS,
    EXPIRATION_MINUTES,
    TASK_MEMORY_BYTES,
    WAIT_SECONDS,
)
from hudi_table_services.options.keys.writing import STAGING_PATH
from hudi_table_services.options.locks import LockOptions


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

    plan: ClusteringOptions
    gates: tuple[CommitGate, ...] = ()
    names_target: bool = False
    base_files: BaseFileOptions = field(default_factory=BaseFileOptions)
    task_memory_bytes: int = TASK_MEMORY_BYTES.default_value
    expires_after_minutes: int = EXPIRATION_MINUTES.default_value
    cancels_expired: bool = ENABLE_EXPIRATIONS.default_value
    wait_seconds: int = WAIT_SECONDS.default_value
    lock: LockOptions = field(default_factory=LockOptions)
    metadata_enable: bool | None = None
    staging_path: str = STAGING_PATH.default_value
    hoodie_options: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
