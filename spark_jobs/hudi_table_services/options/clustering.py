"""Convert hoodie.* keys to the typed options of the clustering jobs."""

from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import (
    ClusteringOptions,
    CommitGate,
    Layout,
    LayoutStrategy,
    PartitionFilterMode,
)
from hudi_table_services.options.clustering_job_options import ClusteringJobOptions
from hudi_table_services.options.keys import clustering as keys
from hudi_table_services.options.keys.compaction import DELETE_SETTINGS
from hudi_table_services.options.keys.writing import TABLE_NAME
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.metadata_settings import metadata_table_settings
from hudi_table_services.options.option import AnyOption, Option, OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import (
    base_file_options,
    known_options,
    staging_path,
    with_fields,
)


def resolve_clustering_options(request: JobRequest) -> ClusteringJobOptions:
    """Check all keys of a clustering request and convert them to typed options.

    Raises:
        InvalidRequestError: an option is invalid or contradicts another option. The message names the key, its value
            and the allowed values, or both keys of a contradiction.
    """
    given = {key: value for key, value in request.options.items() if key not in DELETE_SETTINGS}
    named, warnings = known_options(with_fields(given, _fields(request)), OptionGroup.CLUSTERING)
    reader = OptionReader(named)
    plan = _plan_options(reader)
    return ClusteringJobOptions(
        plan=plan,
        gates=_gates(reader),
        names_target=keys.TARGET_FILE_MAX_BYTES in reader,
        base_files=base_file_options(reader),
        task_memory_bytes=reader[keys.TASK_MEMORY_BYTES],
        expires_after_minutes=reader[keys.EXPIRATION_MINUTES],
        cancels_expired=reader[keys.ENABLE_EXPIRATIONS],
        wait_seconds=reader[keys.WAIT_SECONDS],
        merge_settings={key: request.options[key] for key in DELETE_SETTINGS if key in request.options},
        lock=LockOptions.of(named),
        metadata=metadata_table_settings(reader),
        staging_path=staging_path(reader),
        hoodie_options=named,
        warnings=(*warnings, *_keys_without_effect(reader, plan)),
    )


def _fields(request: JobRequest) -> dict[AnyOption, object]:
    fields: dict[AnyOption, object] = {TABLE_NAME: request.table_name}
    if not isinstance(request, ScheduleClusteringRequest):
        return fields
    fields |= {
        keys.SORT_COLUMNS: ",".join(request.sort_columns),
        keys.LAYOUT_STRATEGY: request.layout,
        keys.SELECTED_PARTITIONS: ",".join(request.partitions),
    }
    if request.every_n_commits:
        fields |= {keys.ASYNC: "true", keys.ASYNC_MAX_COMMITS: request.every_n_commits}
    return fields


_READ_BY_MODE: dict[AnyOption, PartitionFilterMode] = {
    keys.LOOKBACK_PARTITIONS: PartitionFilterMode.RECENT_DAYS,
    keys.SKIP_FROM_LATEST: PartitionFilterMode.RECENT_DAYS,
    keys.BEGIN_PARTITION: PartitionFilterMode.SELECTED_PARTITIONS,
    keys.END_PARTITION: PartitionFilterMode.SELECTED_PARTITIONS,
}
"""Maps each key to the only partition filter mode that reads the key."""


def _keys_without_effect(reader: OptionReader, plan: ClusteringOptions) -> list[str]:
    """Return a warning for each key that has no effect because of other keys. The warning gives the reason."""
    mode = plan.partition_filter_mode
    warnings = [
        f"{option} has no effect: {keys.PARTITION_FILTER_MODE} is {mode.value}, and only {needed.value} uses "
        "this option."
        for option, needed in _READ_BY_MODE.items()
        if mode is not needed and reader.text(option) not in ("", option.default)
    ]
    if plan.layout.strategy is not LayoutStrategy.LINEAR and not plan.layout.columns:
        warnings.append(f"{keys.LAYOUT_STRATEGY} has no effect: there are no sort columns.")
    return warnings


def _plan_options(reader: OptionReader) -> ClusteringOptions:
    parity = reader[keys.CLUSTERING_PARITY]
    return ClusteringOptions(
        plan_strategy=reader[keys.PLAN_STRATEGY],
        layout=_layout(reader),
        small_file_limit_bytes=reader[keys.CLUSTERING_SMALL_FILE_LIMIT],
        target_file_max_bytes=reader[keys.TARGET_FILE_MAX_BYTES],
        max_bytes_per_group=reader[keys.MAX_BYTES_PER_GROUP],
        max_num_groups=reader[keys.MAX_NUM_GROUPS],
        single_group_enabled=reader[keys.SINGLE_GROUP_ENABLED],
        partition_filter_mode=reader[keys.PARTITION_FILTER_MODE],
        lookback_partitions=reader[keys.LOOKBACK_PARTITIONS],
        skip_from_latest=reader[keys.SKIP_FROM_LATEST],
        begin_partition=reader[keys.BEGIN_PARTITION],
        end_partition=reader[keys.END_PARTITION],
        selected_partitions=reader[keys.SELECTED_PARTITIONS],
        partition_pattern=reader[keys.PARTITION_PATTERN],
        earliest_commit=reader[keys.EARLIEST_COMMIT],
        slices_sort_by=reader[keys.SLICES_SORT_BY] or keys.SLICES_SORT_BY.default_value,
        parity=parity,
        log_weight=reader[keys.LOG_WEIGHT],
        split_above_bytes=reader[keys.SPLIT_ABOVE],
        size_tolerance=0.0 if parity else reader[keys.SIZE_TOLERANCE],
        groups_per_plan=reader[keys.GROUPS_PER_PLAN],
        max_pending_plans=reader[keys.MAX_PENDING_PLANS],
    )


def _layout(reader: OptionReader) -> Layout:
    columns = reader[keys.SORT_COLUMNS]
    if len(set(columns)) < len(columns):
        raise InvalidRequestError(
            f"{keys.SORT_COLUMNS}={reader.text(keys.SORT_COLUMNS)} names a column twice."
        )
    return Layout(columns=columns, strategy=reader[keys.LAYOUT_STRATEGY])


def _gates(reader: OptionReader) -> tuple[CommitGate, ...]:
    """Return one gate per active switch. A plan must pass all gates, as in Hudi's scheduler."""
    inline, schedule_inline = reader[keys.INLINE], reader[keys.SCHEDULE_INLINE]
    if inline and schedule_inline:
        raise InvalidRequestError(
            f"{keys.INLINE}=true and {keys.SCHEDULE_INLINE}=true contradict each other.",
            hint="Leave one of them out.",
        )
    gates = []
    if inline:
        gates.append(_gate(reader, keys.INLINE_MAX_COMMITS))
    if schedule_inline or reader[keys.ASYNC]:
        gates.append(_gate(reader, keys.ASYNC_MAX_COMMITS))
    return tuple(gates)


def _gate(reader: OptionReader, commits: Option[int]) -> CommitGate:
    return CommitGate(wanted=reader[commits], key=commits.key)


DEFAULT_CLUSTERING = _plan_options(OptionReader({}))
"""The options of a clustering plan if the request gives no key."""
