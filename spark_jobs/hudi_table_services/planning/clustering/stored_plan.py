"""Convert chosen groups to the plan on the timeline, and read the settings of any stored plan.

The stored plan is a HoodieClusteringPlan as in Hudi 1.2 (ClusteringPlanStrategy, FileSliceMetricUtils). Plans of this
project store the target size and the layout under the keys of the options. For a plan of Hudi, the configuration of the
executing job determines target size and layout.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.model.clustering import (
    ClusteringOptions,
    ClusteringProposal,
    Layout,
    LayoutStrategy,
    PlannedGroup,
    PlanStrategyKind,
    SettledSlice,
)
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.table_service_plans import (
    SINGLE_FILE_SORT_STRATEGY,
    SORT_AND_SIZE_STRATEGY,
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
    PlanStrategy,
)
from hudi_table_services.options.keys.clustering import LAYOUT_STRATEGY, SORT_COLUMNS, TARGET_FILE_MAX_BYTES
from hudi_table_services.planning.clustering.parity import PARQUET_MAX_FILE_SIZE
from hudi_table_services.planning.slice_metrics import slice_metrics

COMMIT_CHECKPOINT = "clustering.commit.checkpoint"
"""Key of the extra metadata in which CommitBasedClusteringPlanStrategy stores the last commit that it considered."""

_SIZE = re.compile(r"[0-9]{1,18}")


def stored_plan(
    groups: Iterable[PlannedGroup],
    proposal: ClusteringProposal,
    options: ClusteringOptions,
    to_uri: Callable[[str], str],
) -> ClusteringPlan:
    """Build the stored plan of one instant.

    Args:
        groups: all groups of the proposal, or those groups of the proposal that this instant executes.
        proposal: the proposal from which the plan takes the waiting partitions and the checkpoint.
        to_uri: converts a path relative to the base path to the absolute path that Hudi needs, e.g.
            ``file:///t/p/f.parquet``.
    """
    single_file = options.plan_strategy is PlanStrategyKind.SINGLE_FILE_SORT
    return ClusteringPlan(
        groups=tuple(_stored_group(group, to_uri) for group in groups),
        strategy=PlanStrategy(
            class_name=SINGLE_FILE_SORT_STRATEGY if single_file else SORT_AND_SIZE_STRATEGY,
            parameters=_parameters(options),
        ),
        extra_metadata={COMMIT_CHECKPOINT: proposal.checkpoint} if proposal.checkpoint else {},
        missing_schedule_partitions=proposal.overdue_partitions,
    )


def read_plan_settings(plan: ClusteringPlan, default: ClusteringOptions) -> SettledSlice:
    """Return the layout and target size that a plan requests. The plan's own parameters have priority over `default`.

    A plan without sort columns requests no order, even if `default` has sort columns, because Hudi writes such a plan
    if no columns are set. Hudi's plans name only the columns; `default` then supplies the curve and the target size.

    Raises:
        MalformedMetadataError: a parameter has a value that this release does not support.
    """
    parameters = plan.strategy.parameters
    columns = tuple(c.strip() for c in parameters.get(SORT_COLUMNS.key, "").split(",") if c.strip())
    target = parameters.get(TARGET_FILE_MAX_BYTES.key, str(default.target_file_max_bytes))
    if not (_SIZE.fullmatch(target) and int(target) > 0):
        raise MalformedMetadataError(
            f"The clustering plan has {TARGET_FILE_MAX_BYTES}={target!r}, which is not a size in bytes."
        )
    strategy = _layout_strategy(parameters, default.layout.strategy) if columns else LayoutStrategy.LINEAR
    return SettledSlice(layout=Layout(columns=columns, strategy=strategy), target_file_max_bytes=int(target))


def refuse_bucket_plan(plan: ClusteringPlan, requested_time: str) -> None:
    """Raise UnsupportedTableError for a plan that changes the number of buckets of a consistent hashing index."""
    name = (plan.strategy.class_name or "").rpartition(".")[2]
    if "Bucket" in name:
        raise UnsupportedTableError(
            f"Clustering {requested_time} has the execution strategy {name}: it changes the number of buckets of a "
            "table with consistent hashing, which this release does not do.",
            hint="Execute the plan with Hudi, or cancel it.",
        )


def _layout_strategy(parameters: Mapping[str, str], default: LayoutStrategy) -> LayoutStrategy:
    name = parameters.get(LAYOUT_STRATEGY.key, default.value)
    try:
        # Up to release 0.13 Hudi wrote "z-order".
        return LayoutStrategy(name.upper().replace("-", ""))
    except ValueError:
        raise MalformedMetadataError(
            f"The clustering plan has {LAYOUT_STRATEGY}={name!r}, which is not supported."
        ) from None


def _parameters(options: ClusteringOptions) -> dict[str, str]:
    parameters = {TARGET_FILE_MAX_BYTES.key: str(options.target_file_max_bytes)}
    if options.layout.is_sorted:
        parameters[SORT_COLUMNS.key] = ",".join(options.layout.columns)
        parameters[LAYOUT_STRATEGY.key] = options.layout.strategy.value
    return parameters


def _stored_group(group: PlannedGroup, to_uri: Callable[[str], str]) -> ClusteringGroup:
    return ClusteringGroup(
        slices=tuple(_stored_slice(s, to_uri) for s in group.slices),
        metrics=slice_metrics(group.slices, PARQUET_MAX_FILE_SIZE),
        output_file_groups=group.output_files,
    )


def _stored_slice(file_slice: FileSlice, to_uri: Callable[[str], str]) -> ClusteringSlice:
    partition = file_slice.file_group_id.partition_path
    folder = f"{partition}/" if partition else ""
    base_path = file_slice.base_file_path
    return ClusteringSlice(
        file_id=file_slice.file_group_id.file_id,
        partition_path=partition,
        # A slice without a base file gets an empty string, as in Hudi: executions of Hudi fail if the value is missing.
        data_file_path="" if base_path is None else to_uri(base_path),
        delta_file_paths=tuple(to_uri(folder + log.file_name) for log in file_slice.log_files),
        bootstrap_file_path="",
    )
