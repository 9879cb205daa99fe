"""Convert a proposal to the plan on the timeline (CompactionOperation, CompactionStrategy; Hudi 1.2.0).

Hudi 0.15.0 and 1.2.0 cannot execute a plan whose operations have no metrics. In plan version 2, file names have no
folder. Like Hudi's plans, the plan has no strategy, and `preserveHoodieMetadata` is false; nevertheless, the rows keep
their meta columns. Only Hudi 1.x reads `missingSchedulePartitions`: its next incremental plan also considers these
partitions.
"""

from hudi_table_services.model.compaction.compaction_proposal import CompactionProposal
from hudi_table_services.model.compaction.compaction_settings import CompactionOptions
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.table_service_plans import CompactionOperation, CompactionPlan
from hudi_table_services.planning.slice_metrics import slice_metrics


def stored_compaction_plan(proposal: CompactionProposal, options: CompactionOptions) -> CompactionPlan:
    """Build the stored plan of version 2, in the order of the proposal."""
    return CompactionPlan(
        operations=tuple(_operation(o.file_slice, options.new_base_file_bytes) for o in proposal.operations),
        missing_schedule_partitions=proposal.waiting_partitions,
    )


def _operation(file_slice: FileSlice, new_base_file_bytes: int) -> CompactionOperation:
    base = file_slice.base_file
    return CompactionOperation(
        base_instant_time=file_slice.base_instant_time,
        file_id=file_slice.file_group_id.file_id,
        partition_path=file_slice.file_group_id.partition_path,
        data_file_path=None if base is None else base.file_name,
        delta_file_paths=tuple(
            log.file_name for log in sorted(file_slice.log_files, key=lambda log: log.merge_order)
        ),
        metrics=slice_metrics((file_slice,), new_base_file_bytes),
    )
