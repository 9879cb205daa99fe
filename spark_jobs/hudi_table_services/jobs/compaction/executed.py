"""Outcomes of compaction plans, and their reports for the result document."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.compaction.compaction import (
    CompactedPartition,
    CompactionPlanReport,
    UnmergedLogs,
)
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.compaction.compaction_proposal import CompactionProposal
from hudi_table_services.model.compaction.slice_logs import ReadAmplification
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata, WriteStat
from hudi_table_services.tables.compaction.compaction_history import Compaction

if TYPE_CHECKING:
    from hudi_table_services.execution.compaction.merge_slice import CompactedSlice

_LOG_BYTES = "TOTAL_LOG_FILES_SIZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedCompaction:
    """A completed plan.

    Attributes:
        outcomes: the new base files; empty if an earlier attempt completed the plan.
        base_bytes: sizes of the base files that were merged, by partition.
        replaced_groups: number of file groups that the execution left out, because a completed write replaced them.
        is_reused: whether an earlier attempt completed the plan.
    """

    compaction: Compaction
    instant: Instant
    metadata: CommitMetadata
    outcomes: "tuple[CompactedSlice, ...]" = ()
    base_bytes: "dict[str, list[int]]"
    replaced_groups: int = 0
    is_reused: bool = False


@dataclass(frozen=True, slots=True)
class FailedCompaction:
    """A plan that is still pending because its execution failed, with the error of the execution."""

    compaction: Compaction
    error: HudiTableServiceError


def unmerged_logs(found: ReadAmplification) -> UnmergedLogs:
    """The report on the log files of a table."""
    return UnmergedLogs(
        slices=len(found.slices),
        slices_total=found.slices_total,
        log_files=found.log_files,
        log_bytes=found.log_bytes,
        base_bytes=found.base_bytes_total,
        oldest_log=found.oldest_log,
    )


def proposed_plan_report(instant_time: str, state: str, proposal: CompactionProposal) -> CompactionPlanReport:
    """Report on a plan that this job made."""
    slices = defaultdict(list)
    for operation in proposal.operations:
        slices[operation.file_slice.file_group_id.partition_path].append(operation)
    return CompactionPlanReport(
        instant_time=instant_time,
        state=state,
        partitions=_in_order(
            CompactedPartition(
                partition_path=path,
                slices=len(operations),
                log_files=sum(each.log_files for each in operations),
                log_bytes=sum(each.log_bytes for each in operations),
                base_bytes=sum(each.base_bytes for each in operations),
            )
            for path, operations in slices.items()
        ),
        expected_task_seconds=round(proposal.expected_task_seconds, 1),
    )


def stored_plan_report(compaction: Compaction, state: str) -> CompactionPlanReport:
    """Report on a plan that this job did not make or execute. Plans do not contain the sizes of base files."""
    slices = defaultdict(list)
    for operation in compaction.plan.operations:
        slices[operation.partition_path].append(operation)
    return CompactionPlanReport(
        instant_time=compaction.instant.requested_time,
        state=state,
        completion_time=compaction.instant.completion_time,
        partitions=_in_order(
            CompactedPartition(
                partition_path=path,
                slices=len(operations),
                log_files=sum(len(each.delta_file_paths) for each in operations),
                log_bytes=sum(_finite_bytes(each.metrics.get(_LOG_BYTES, 0)) for each in operations),
                base_bytes=None,
            )
            for path, operations in slices.items()
        ),
    )


def executed_plan_report(plan: ExecutedCompaction) -> CompactionPlanReport:
    """Report on a completed plan, with measured sizes and rows."""
    if plan.is_reused:
        return stored_plan_report(with_completed_instant(plan), "reused")
    reused = {outcome.stat.path for outcome in plan.outcomes if outcome.is_reused}
    return CompactionPlanReport(
        instant_time=plan.instant.requested_time,
        state="completed",
        completion_time=plan.instant.completion_time,
        partitions=_in_order(
            _measured(path, stats, plan.base_bytes.get(path, []), reused)
            for path, stats in plan.metadata.partition_to_write_stats.items()
        ),
        replaced_groups=plan.replaced_groups,
    )


def with_completed_instant(plan: ExecutedCompaction) -> Compaction:
    """The compaction with its completed instant."""
    return replace(plan.compaction, instant=plan.instant)


def failed_plan_report(plan: FailedCompaction) -> CompactionPlanReport:
    """Report on a plan whose execution failed."""
    return replace(stored_plan_report(plan.compaction, "failed"), error=plan.error.message)


def _measured(
    path: str, stats: Sequence[WriteStat], base_sizes: Sequence[int], reused: set[str]
) -> CompactedPartition:
    return CompactedPartition(
        partition_path=path,
        slices=len(stats),
        log_files=sum(_extra(stat, "totalLogFilesCompacted") for stat in stats),
        log_bytes=sum(_extra(stat, "totalLogSizeCompacted") for stat in stats),
        base_bytes=sum(base_sizes),
        output_bytes=sum(stat.file_size_bytes for stat in stats),
        rows=sum(stat.num_writes for stat in stats),
        updated_rows=sum(stat.num_update_writes for stat in stats),
        inserted_rows=sum(stat.num_inserts for stat in stats),
        deleted_rows=sum(stat.num_deletes for stat in stats),
        reused_files=sum(stat.path in reused for stat in stats),
    )


def _extra(stat: WriteStat, name: str) -> int:
    value = stat.extra.get(name, 0)
    return value if isinstance(value, int) else 0


def _in_order(partitions: Iterable[CompactedPartition]) -> tuple[CompactedPartition, ...]:
    return tuple(sorted(partitions, key=lambda each: each.partition_path))


def _finite_bytes(number: float) -> int:
    return int(number) if math.isfinite(number) else 0
