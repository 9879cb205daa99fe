"""Validation of clustering options: impossible values and contradictions are refused before planning."""

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import ClusteringOptions, PlanStrategyKind

SMALL_FILE_LIMIT = "hoodie.clustering.plan.strategy.small.file.limit"
TARGET_FILE_MAX_BYTES = "hoodie.clustering.plan.strategy.target.file.max.bytes"
MAX_BYTES_PER_GROUP = "hoodie.clustering.plan.strategy.max.bytes.per.group"
MAX_NUM_GROUPS = "hoodie.clustering.plan.strategy.max.num.groups"
SINGLE_GROUP_ENABLED = "hoodie.clustering.plan.strategy.single.group.clustering.enabled"
SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"
SLICES_SORT_BY = "hoodie.clustering.plan.strategy.file.slices.sort.by"
BEGIN_PARTITION = "hoodie.clustering.plan.strategy.cluster.begin.partition"
END_PARTITION = "hoodie.clustering.plan.strategy.cluster.end.partition"
EARLIEST_COMMIT = "hoodie.clustering.plan.strategy.earliest.commit.to.cluster"
STRATEGY_CLASS = "hoodie.clustering.plan.strategy.class"
LAYOUT_STRATEGY = "hoodie.layout.optimize.strategy"

SORT_BY_SIZE = "SIZE"
SORT_BY_INSTANT_TIME = "INSTANT_TIME"


def check_clustering_options(options: ClusteringOptions) -> None:
    """Raise InvalidRequestError, naming the keys, if no sensible plan can follow from the options."""
    _check_numbers(options)
    _check_pairs(options)
    unknown = [by for by in options.slices_sort_by if by not in (SORT_BY_SIZE, SORT_BY_INSTANT_TIME)]
    if unknown or not options.slices_sort_by:
        raise InvalidRequestError(
            f"{SLICES_SORT_BY} is {','.join(options.slices_sort_by)!r}.",
            hint=f"Set it to {SORT_BY_SIZE}, {SORT_BY_INSTANT_TIME} or both, separated by a comma.",
        )


def _check_numbers(options: ClusteringOptions) -> None:
    for key, value in (
        (SMALL_FILE_LIMIT, options.small_file_limit_bytes),
        (TARGET_FILE_MAX_BYTES, options.target_file_max_bytes),
        (MAX_BYTES_PER_GROUP, options.max_bytes_per_group),
        (MAX_NUM_GROUPS, options.max_num_groups),
    ):
        if value <= 0:
            raise InvalidRequestError(f"{key} is {value}, it must be at least 1.")
    # A chained comparison, because it also refuses NaN.
    if not 0 <= options.size_tolerance < 1:
        raise InvalidRequestError(
            f"hoodie.airflow.clustering.size.tolerance is {options.size_tolerance}, it must be at least 0 and below 1."
        )
    if not 0 <= options.log_weight < float("inf"):
        raise InvalidRequestError(
            f"hoodie.logfile.to.parquet.compression.ratio is {options.log_weight}, it must be at least 0."
        )


def _check_pairs(options: ClusteringOptions) -> None:
    # Parity mode follows Hudi, which also plans files above the target and splits them.
    if not options.parity and options.target_file_max_bytes < options.small_file_limit_bytes:
        raise InvalidRequestError(
            f"{TARGET_FILE_MAX_BYTES} ({options.target_file_max_bytes}) is below "
            f"{SMALL_FILE_LIMIT} ({options.small_file_limit_bytes}): new files would be small again.",
            hint="Raise the target, or lower the small-file limit.",
        )
    if options.begin_partition and options.end_partition and options.begin_partition > options.end_partition:
        raise InvalidRequestError(
            f"{BEGIN_PARTITION} ({options.begin_partition!r}) comes after "
            f"{END_PARTITION} ({options.end_partition!r}): no partition lies between."
        )
    if options.plan_strategy is PlanStrategyKind.SINGLE_FILE_SORT and not options.layout.is_sorted:
        raise InvalidRequestError(
            f"{STRATEGY_CLASS} is {options.plan_strategy.value}, but {SORT_COLUMNS} names no column to sort by."
        )
    if options.plan_strategy is PlanStrategyKind.COMMIT_BASED and not options.earliest_commit:
        raise InvalidRequestError(
            f"{STRATEGY_CLASS} is {options.plan_strategy.value}, but {EARLIEST_COMMIT} is not set.",
            hint="Set it to the requested time of the last commit that needs no clustering.",
        )
