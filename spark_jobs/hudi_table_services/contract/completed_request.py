"""Build the result of a request that an earlier attempt completed."""

from collections.abc import Mapping

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome, PartitionReport, RowCounts
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata


def result_of_completed(request: JobRequest, instant: Instant, metadata: CommitMetadata) -> JobResult:
    """Build the result from the commit metadata. The metadata describes only the files that the request wrote.

    So the result contains no sums over the live files of partitions.
    """
    stats = metadata.write_stats
    replaced: Mapping[str, tuple[str, ...]] = metadata.partition_to_replace_file_ids or {}
    return JobResult(
        request_id=request.request_id,
        outcome=Outcome.COMPLETED,
        service=request.service,
        operation=metadata.operation_type.value.lower(),
        table_name=request.table_name,
        base_path=request.base_path,
        reused=True,
        reason="an earlier attempt of this request completed it; now the source was not read and nothing was written",
        action=instant.action.value,
        instant_time=instant.requested_time,
        completion_time=instant.completion_time,
        rows=RowCounts(
            inserted=sum(stat.num_inserts for stat in stats),
            updated=sum(stat.num_update_writes for stat in stats),
            deleted=sum(stat.num_deletes for stat in stats),
        ),
        replaced_file_groups=sum(len(file_ids) for file_ids in replaced.values()),
        partitions=tuple(
            PartitionReport(partition_path=path)
            for path in sorted({*metadata.partition_to_write_stats, *replaced})
        ),
    )
