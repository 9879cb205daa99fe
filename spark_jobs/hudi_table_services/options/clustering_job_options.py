"""Typed options of the clustering jobs; `options.clustering` creates them from hoodie.* keys."""

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
from hudi_table_services.options.metadata_settings import DEFAULT_METADATA_SETTINGS
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringJobOptions:
    """All options of the jobs that schedule, execute and cancel a clustering.

    Attributes:
        plan: settings of the planner.
        gates: conditions on the number of commits; the job schedules a plan only if all conditions are met.
        names_target: whether the request contains the target file size. If not, an execution uses the target size of
            the plan.
        base_files: encoding of the written files.
        task_memory_bytes: maximum size of Arrow data that a Spark task sorts in memory. Larger groups are sorted with
            the help of temporary files.
        expires_after_minutes: age at which an execution without a heartbeat, such as an execution by Hudi, counts as
            dead, and at which `cancels_expired` cancels a plan.
        cancels_expired: whether a job that schedules a plan first cancels older pending plans that no job is executing.
        wait_seconds: maximum time that an execution waits for another execution of the same plan.
        merge_settings: settings for `planning.table.merge_rules.merge_rule`.
        lock: settings of the table lock.
        metadata: options of the metadata table.
        staging_path: folder of staged rows, below the base path.
        hoodie_options: all keys of the request, including its typed arguments.
        warnings: one sentence for each known key that has no effect in these jobs.
    """

    plan: ClusteringOptions
    gates: tuple[CommitGate, ...] = ()
    names_target: bool = False
    base_files: BaseFileOptions = field(default_factory=BaseFileOptions)
    task_memory_bytes: int = TASK_MEMORY_BYTES.default_value
    expires_after_minutes: int = EXPIRATION_MINUTES.default_value
    cancels_expired: bool = ENABLE_EXPIRATIONS.default_value
    wait_seconds: int = WAIT_SECONDS.default_value
    merge_settings: Mapping[str, str] = field(default_factory=dict)
    lock: LockOptions = field(default_factory=LockOptions)
    metadata: MetadataTableSettings = DEFAULT_METADATA_SETTINGS
    staging_path: str = STAGING_PATH.default_value
    hoodie_options: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
