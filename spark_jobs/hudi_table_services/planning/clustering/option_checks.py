"""Validate clustering options: refuse impossible values and contradictions before planning."""

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import ClusteringOptions, PlanStrategyKind
from hudi_table_services.options.keys.clustering import (
    BEGIN_PARTITION,
    CLUSTERING_SMALL_FILE_LIMIT,
    EARLIEST_COMMIT,
    END_PARTITION,
    LOG_WEIGHT,
    MAX_BYTES_PER_GROUP,
    MAX_NUM_GROUPS,
    PLAN_STRATEGY,
    SIZE_TOLERANCE,
    SLICES_SORT_BY,
    SORT_COLUMNS,
    SPLIT_ABOVE,
    TARGET_FILE_MAX_BYTES,
)

SORT_BY_SIZE = "SIZE"
SORT_BY_INSTANT_TIME = "INSTANT_TIME"


def check_clustering_options(options: ClusteringOptions) -> None:
    """Raise InvalidRequestError with the keys of the options if the options allow no sensible plan."""
    _check_numbers(options)
    _check_pairs(options)
    unknown = [by for by in options.slices_sort_by if by not in (SORT_BY_SIZE, SORT_BY_INSTANT_TIME)]
    if unknown or not options.slices_sort_by:
        raise InvalidRequestError(
            f"{SLICES_SORT_BY} is {','.join(options.slices_sort_by)!r}, which is not a supported order.",
            hint=f"Set the option to {SORT_BY_SIZE}, {SORT_BY_INSTANT_TIME} or both, separated by a comma.",
        )


def _check_numbers(options: ClusteringOptions) -> None:
    for key, value in (
        (CLUSTERING_SMALL_FILE_LIMIT, options.small_file_limit_bytes),
        (TARGET_FILE_MAX_BYTES, options.target_file_max_bytes),
        (MAX_BYTES_PER_GROUP, options.max_bytes_per_group),
        (MAX_NUM_GROUPS, options.max_num_groups),
    ):
        if value <= 0:
            raise InvalidRequestError(f"{key} is {value}, but must be at least 1.")
    # The chained comparison also refuses NaN.
    if not 0 <= options.size_tolerance < 1:
        raise InvalidRequestError(
            f"{SIZE_TOLERANCE} is {options.size_tolerance}, but must be at least 0 and below 1."
        )
    if not 0 <= options.log_weight < float("inf"):
        raise InvalidRequestError(f"{LOG_WEIGHT} is {options.log_weight}, but must be at least 0 and finite.")


def _check_pairs(options: ClusteringOptions) -> None:
    # Parity mode follows Hudi, which also plans files above the target and splits them.
    if not options.parity and options.target_file_max_bytes < options.small_file_limit_bytes:
        raise InvalidRequestError(
            f"{TARGET_FILE_MAX_BYTES} ({options.target_file_max_bytes}) is below "
            f"{CLUSTERING_SMALL_FILE_LIMIT} ({options.small_file_limit_bytes}): the new files would count as small.",
            hint="Raise the target, or lower the small-file limit.",
        )
    largest = int(options.target_file_max_bytes * (1 + options.size_tolerance))
    if 0 < options.split_above_bytes <= max(largest, options.small_file_limit_bytes):
        raise InvalidRequestError(
            f"{SPLIT_ABOVE} ({options.split_above_bytes}) must be above the largest size of a new file ({largest}) and "
            f"above {CLUSTERING_SMALL_FILE_LIMIT} ({options.small_file_limit_bytes}), so that no new file is divided "
            "again.",
            hint="Raise the option, or lower the target.",
        )
    if options.begin_partition and options.end_partition and options.begin_partition > options.end_partition:
        raise InvalidRequestError(
            f"{BEGIN_PARTITION} ({options.begin_partition!r}) is after "
            f"{END_PARTITION} ({options.end_partition!r}), so the range contains no partition."
        )
    if options.plan_strategy is PlanStrategyKind.SINGLE_FILE_SORT and not options.layout.is_sorted:
        raise InvalidRequestError(
            f"{PLAN_STRATEGY} is {options.plan_strategy.value}, but {SORT_COLUMNS} names no column to sort by."
        )
    if options.plan_strategy is PlanStrategyKind.COMMIT_BASED and not options.earliest_commit:
        raise InvalidRequestError(
            f"{PLAN_STRATEGY} is {options.plan_strategy.value}, but {EARLIEST_COMMIT} is not set.",
            hint=f"Set {EARLIEST_COMMIT} to the requested time of the last commit that needs no clustering.",
        )
