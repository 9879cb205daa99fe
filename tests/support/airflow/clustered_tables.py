"""Clusterings on the timelines of small tables, as jobs schedule and complete them; no rows are rewritten."""

from collections.abc import Sequence
from datetime import datetime, timezone

from hudi_table_services.contract.clustering import CancelClusteringRequest
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import REQUEST_ID_KEY, CommitMetadata, WriteOperation
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.clustering_history import GAVE_WAY_KEY, PREDECESSOR_KEY
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable


def open_table(base_path: str) -> SmallTable:
    """Open an existing table for further writes at the current time."""
    storage = LocalStorage(base_path)
    version = read_table_config(storage).table_version
    return SmallTable.existing(storage, version, FixedClock(datetime.now(timezone.utc)))


def schedule(
    table: SmallTable, *, partition: str = "city=a", request_id: str = "", instead_of: str = ""
) -> Instant:
    """Request a clustering of one file group. The new plan replaces the plan ``instead_of``, as after a release."""
    piece = ClusteringSlice(
        file_id="a-0", partition_path=partition, data_file_path=f"file:///t/{partition}/a-0"
    )
    plan = ClusteringPlan(groups=(ClusteringGroup(slices=(piece,)),))
    action = Action.REPLACE_COMMIT if table.version is TableVersion.V6 else Action.CLUSTERING
    named = {REQUEST_ID_KEY: request_id, PREDECESSOR_KEY: instead_of}
    extra = {key: value for key, value in named.items() if value}
    return table.timeline_store.request(action, encode_requested_replace(plan, extra))


def cancel(table: SmallTable, *instants: Instant) -> None:
    """Cancel the given plans."""
    request = CancelClusteringRequest(base_path="/t", instants=tuple(i.requested_time for i in instants))
    cancel_clustering(request, storage=table.storage, clock=table.clock)


def release(table: SmallTable, plan: Instant, *, request_id: str = "", releases_all: bool = False) -> Instant:
    """Release file groups of a plan for a write. Return the new plan, or the write instant if no group is left."""
    cancel(table, plan)
    if not releases_all:
        successor = schedule(table, request_id=request_id, instead_of=plan.requested_time)
    write = table.commit(FileGroupId("city=a", "a-0"), extra={GAVE_WAY_KEY: plan.requested_time})
    return write if releases_all else successor


def complete(table: SmallTable, *instants: Instant, request_id: str = "") -> None:
    """Complete the given clusterings in the same way as an execution with this request id."""
    metadata = CommitMetadata(
        operation_type=WriteOperation.CLUSTER,
        partition_to_write_stats={},
        partition_to_replace_file_ids={"city=a": ("a-0",)},
        extra_metadata={REQUEST_ID_KEY: request_id} if request_id else {},
    )
    for instant in instants:
        store = table.timeline_store
        store.complete(store.start(instant), encode_commit_metadata(metadata, table.version))


def complete_pending(base_path: str, times: Sequence[str] = (), request_id: str = "") -> list[str]:
    """Complete the pending clusterings with these times (no times: all of them), and return their requested times."""
    table = open_table(base_path)
    pending = [i for i in table.timeline_store.load().pending if not times or i.requested_time in times]
    complete(table, *pending, request_id=request_id)
    return [instant.requested_time for instant in pending]
