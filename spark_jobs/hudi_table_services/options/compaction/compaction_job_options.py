"""Typed options of the compaction jobs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_table_services.contract.compaction.compaction import ScheduleCompactionRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.compaction.compaction_settings import CompactionOptions, CompactionTrigger
from hudi_table_services.options.base_files import BaseFileOptions
from hudi_table_services.options.compaction.compaction_options import compaction_options
from hudi_table_services.options.keys import compaction as keys
from hudi_table_services.options.keys.writing import STAGING_PATH, TABLE_NAME
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.metadata_settings import DEFAULT_METADATA_SETTINGS, metadata_table_settings
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings
from hudi_table_services.options.option import AnyOption, OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import (
    base_file_options,
    known_options,
    staging_path,
    with_fields,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionJobOptions:
    """All options of the jobs that schedule, execute and cancel a compaction.

    Attributes:
        plan: settings of the trigger and of the planner.
        base_files: encoding of the written files.
        task_memory_bytes: maximum size of log records that a Spark task keeps in memory.
        expires_after_minutes: age at which an execution without a heartbeat, such as an execution by Hudi, counts as
            dead.
        wait_seconds: maximum time that an execution waits for another execution of the same plan.
        merge_settings: settings for `planning.table.merge_rules.merge_rule`.
        lock: settings of the table lock.
        metadata: options of the metadata table.
        staging_path: folder of staged keys, below the base path.
        warnings: one sentence for each known key that has no effect in these jobs.
    """

    plan: CompactionOptions
    base_files: BaseFileOptions = field(default_factory=BaseFileOptions)
    task_memory_bytes: int = keys.TASK_MEMORY_BYTES.default_value
    expires_after_minutes: int = keys.EXPIRATION_MINUTES.default_value
    wait_seconds: int = keys.WAIT_SECONDS.default_value
    merge_settings: Mapping[str, str] = field(default_factory=dict)
    lock: LockOptions = field(default_factory=LockOptions)
    metadata: MetadataTableSettings = DEFAULT_METADATA_SETTINGS
    staging_path: str = STAGING_PATH.default_value
    warnings: tuple[str, ...] = ()


def resolve_compaction_options(request: JobRequest) -> CompactionJobOptions:
    """Check all keys of a compaction request and convert them to typed options.

    Raises:
        InvalidRequestError: an option is invalid or contradicts another option. The message names the key, its value
            and the allowed values, or both keys of a contradiction.
    """
    given = {key: value for key, value in request.options.items() if key not in keys.DELETE_SETTINGS}
    named, warnings = known_options(with_fields(given, _fields(request)), OptionGroup.COMPACTION)
    reader = OptionReader(named)
    plan = compaction_options(named)
    _check_trigger_counts_commits(request, plan)
    return CompactionJobOptions(
        plan=plan,
        base_files=base_file_options(reader),
        task_memory_bytes=reader[keys.TASK_MEMORY_BYTES],
        expires_after_minutes=reader[keys.EXPIRATION_MINUTES],
        wait_seconds=reader[keys.WAIT_SECONDS],
        merge_settings={key: request.options[key] for key in keys.DELETE_SETTINGS if key in request.options},
        lock=LockOptions.of(named),
        metadata=metadata_table_settings(reader),
        staging_path=staging_path(reader),
        warnings=warnings,
    )


def _fields(request: JobRequest) -> dict[AnyOption, object]:
    fields: dict[AnyOption, object] = {TABLE_NAME: request.table_name}
    if isinstance(request, ScheduleCompactionRequest):
        fields |= {
            keys.SELECTED_PARTITIONS: ",".join(request.partitions),
            keys.MAX_DELTA_COMMITS: request.every_n_commits or None,
        }
    return fields


def _check_trigger_counts_commits(request: JobRequest, plan: CompactionOptions) -> None:
    if not isinstance(request, ScheduleCompactionRequest) or not request.every_n_commits:
        return
    if plan.trigger is CompactionTrigger.TIME_ELAPSED:
        raise InvalidRequestError(
            f"every_n_commits is {request.every_n_commits}, but {keys.COMPACTION_TRIGGER}={plan.trigger.value} does "
            "not count delta commits.",
            hint=f"Leave every_n_commits out, or give {keys.COMPACTION_TRIGGER} another value, such as "
            f"{CompactionTrigger.NUM_OR_TIME.value}.",
        )
