"""The health job on tables without rows: pending, dead and damaged instants."""

from datetime import timedelta

import pytest
from checked_table import A2, VERSIONS, A, CheckedTable

from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import UnhealthyTableError
from hudi_table_services.hudi_format.table_service_plans import encode_clean_plan
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CleanPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from support.small_tables import base_file_name


@VERSIONS
def test_a_dead_write_and_its_files_are_reported(version: TableVersion) -> None:
    checked = CheckedTable(version)
    checked.table.commit(A)
    dead = checked.table.begin()
    checked.table.add_file("a", base_file_name("f9", dead.requested_time))
    young = checked.pending(later=timedelta(hours=-1.5))
    assert (young.is_dead, young.heartbeat) == (False, "none")
    pending = checked.pending()
    assert (pending.is_dead, pending.action, pending.state) == (True, "commit", "inflight")
    assert "its writer died" in pending.meaning
    assert "rolls it back first" in pending.next_step
    assert any("cleaning and archival" in each for each in pending.blocks)
    # Files of a pending write are not leftovers while the write is pending.
    assert checked.report().measures["leftover_files"] == 0
    checked.storage.write(heartbeat_path(dead.requested_time), b"other writer")
    assert (checked.pending().heartbeat, checked.pending().is_dead) == ("alive", False)
    assert checked.pending(later=timedelta(minutes=10)).heartbeat == "expired"
    checked.table.timeline_store.remove(dead)
    checked.table.commit(A)
    report = checked.report()
    assert report.measures["leftover_files"] == 1
    assert report.leftover_examples == (f"a/{base_file_name('f9', dead.requested_time)}",)


@VERSIONS
def test_an_old_clustering_plan_is_reported(version: TableVersion) -> None:
    checked = CheckedTable(version)
    checked.table.commit(A, A2)
    checked.plan_clustering(A, A2)
    pending = checked.pending(later=timedelta(hours=-1.8))
    assert (pending.operation, pending.file_groups, pending.is_dead) == ("CLUSTER", 2, False)
    assert "scheduled but not started" in pending.meaning
    pending = checked.pending(later=timedelta(days=2))
    assert "never executed" in pending.meaning
    assert "2 file groups" in pending.blocks[0]
    report = checked.report(later=timedelta(days=2))
    assert "oldest_pending_hours" in {each.measure for each in report.findings}


@VERSIONS
def test_dead_cleans_rollbacks_restores_and_savepoints_are_reported(version: TableVersion) -> None:
    checked = CheckedTable(version)
    commit = checked.table.commit(A)
    checked.table.timeline_store.begin_savepoint(commit.requested_time)
    checked.table.timeline_store.request(
        Action.CLEAN, encode_clean_plan(CleanPlan(policy="KEEP_LATEST_COMMITS"))
    )
    checked.table.begin(Action.ROLLBACK)
    checked.table.begin(Action.RESTORE)
    found = {each.action: each for each in checked.report().pending}
    assert found.keys() == {"savepoint", "clean", "rollback", "restore"}
    assert all(each.is_dead for each in found.values())
    assert found["restore"].blocks == ("every write and table service",)
    assert checked.report().measures["dead_instants"] == 4


@VERSIONS
def test_an_instant_of_zero_bytes_always_fails_the_check(version: TableVersion) -> None:
    checked = CheckedTable(version)
    commit = checked.table.commit(A)
    checked.storage.write(checked.table.timeline_store.path_of(commit), b"")
    with pytest.raises(UnhealthyTableError, match="cannot be trusted.*zero bytes") as caught:
        checked.result()
    report = caught.value.evidence
    assert report is not None
    assert (report.status, report.measures) == ("failing", {"damaged": 1.0})
    failed = JobResult.failed(HealthRequest(base_path="/t"), caught.value)
    assert failed.report == report
    assert read_result(failed.to_json()) == failed
