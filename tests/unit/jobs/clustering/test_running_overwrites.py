"""A running overwrite names the file groups that it replaces, so that no clustering plan contains them."""

from uuid import uuid4

import pytest

from hudi_table_services.commits.attempt import CommitAttempt
from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.file_sizing import FileSizingPlan
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.planning.file_sizing.write_profile import replaced_file_ids, workload_profile
from hudi_table_services.storage.locks.lock import table_lock
from hudi_table_services.storage.pending_plans import groups_being_written
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.small_tables import SmallTable

A = frozenset(FileGroupId("a", f"a{number}-0") for number in range(3))


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8, TableVersion.V9])
def test_no_clustering_plan_contains_file_groups_that_a_running_overwrite_replaces(
    version: TableVersion,
) -> None:
    table = SmallTable(MemoryStorage(uuid4().hex), version)
    for number in range(3):
        table.commit(FileGroupId("a", f"a{number}-0"), FileGroupId("b", f"b{number}-0"))
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config, exists=True)
    snapshot = load_snapshot(table.storage)
    lock = table_lock(table.storage, LockOptions(), table.clock)
    replaced = replaced_file_ids(snapshot, ["a"])
    profile = workload_profile(
        FileSizingPlan(partitions=()), snapshot, WriteOperation.INSERT_OVERWRITE, {}, replaced
    )
    with CommitAttempt(access, snapshot, Action.REPLACE_COMMIT, lock, "an overwrite") as attempt:
        attempt.start(profile)
        written = groups_being_written(table.timeline_store, table.timeline_store.load())
        assert written == dict.fromkeys(A, f"of the write {attempt.instant_time}")
        request = ScheduleClusteringRequest(base_path="/t")
        scheduled = schedule_clustering(request, storage=table.storage, clock=table.clock)
        assert scheduled.outcome is Outcome.COMPLETED
        assert scheduled.report is not None
        assert [g.partition_path for plan in scheduled.report.plans for g in plan.groups] == ["b"]
        attempt.complete(profile)
