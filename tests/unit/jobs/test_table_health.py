"""The health job on tables without rows: what it measures, what it says of pending instants, what fails."""

import json
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from fixed_clock import FixedClock
from hudi_table_services.contract.clean_request import CleanRequest
from hudi_table_services.contract.health_report import MEASURES, HealthReport, PendingInstant
from hudi_table_services.contract.health_request import HealthRequest
from hudi_table_services.contract.job_result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError, UnhealthyTableError
from hudi_table_services.hudi_format.table_service_plans import encode_clean_plan, encode_requested_replace
from hudi_table_services.jobs.clean import clean
from hudi_table_services.jobs.table_health import table_health
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import (
    CleanPlan,
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.scripts.health import TABLE_HEALTH
from hudi_table_services.storage.heartbeat import heartbeat_path
from hudi_table_services.storage.memory import MemoryStorage
from small_tables import SmallTable, base_file_name

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, A2, B = FileGroupId("a", "f1"), FileGroupId("a", "f2"), FileGroupId("b", "f3")


class Looked:
    """A table of some commits, begun two hours ago, and looks at it."""

    def __init__(self, version: TableVersion) -> None:
        self.storage = MemoryStorage(uuid4().hex)
        clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=1))
        self.table = SmallTable(self.storage, version, clock)

    def result(self, later: timedelta = timedelta(), **fields: Any) -> JobResult:
        clock = FixedClock(datetime.now(timezone.utc) + later)
        request = HealthRequest(base_path=self.storage.uri, **fields)
        before = [(f.path, f.size_bytes) for f in self.storage.list_files()]
        try:
            return table_health(request, storage=self.storage, clock=clock)
        finally:
            assert [(f.path, f.size_bytes) for f in self.storage.list_files()] == before

    def report(self, later: timedelta = timedelta(), **fields: Any) -> HealthReport:
        report = self.result(later, **fields).health
        assert report is not None
        return report

    def pending(self, later: timedelta = timedelta()) -> PendingInstant:
        found = self.report(later).pending
        assert len(found) == 1
        return found[0]

    def plan_clustering(self, *groups: FileGroupId) -> None:
        slices = tuple(
            ClusteringSlice(partition_path=g.partition_path, file_id=g.file_id, data_file_path="x")
            for g in groups
        )
        plan = ClusteringPlan(groups=(ClusteringGroup(slices=slices),))
        action = Action.CLUSTERING if self.table.version >= TableVersion.V8 else Action.REPLACE_COMMIT
        self.table.timeline_store.request(action, encode_requested_replace(plan))


@VERSIONS
def test_a_table_that_is_well(version: TableVersion) -> None:
    looked = Looked(version)
    for _ in range(3):
        newest = looked.table.commit(A, B)
    result = looked.result()
    report = result.health
    assert report is not None
    assert (result.outcome, report.status, report.findings, report.pending) == (
        Outcome.COMPLETED,
        "healthy",
        (),
        (),
    )
    assert (report.last_commit, report.last_clean, report.partition_count) == (newest.requested_time, "", 2)
    assert report.measures.keys() == MEASURES.keys()
    assert report.measures["active_commits"] == report.measures["commits_since_clustering"] == 3
    assert (report.measures["outdated_files"], report.measures["outdated_bytes"]) == (4, 16)
    assert 1.8 < report.measures["hours_since_commit"] < 2.1
    # One small file in each partition is as good as it gets.
    assert (report.measures["small_files"], report.measures["small_file_ratio"]) == (0, 0)
    assert JobResult.from_json(result.to_json()) == result


@VERSIONS
def test_what_the_next_clean_and_archival_have_to_do(version: TableVersion) -> None:
    looked = Looked(version)
    for _ in range(33):
        looked.table.commit(A)
    report = looked.report()
    assert report.measures["commits_to_clean"] == 33 - 10
    assert report.measures["commits_to_archive"] == 33 - 20
    assert report.retention == "10 of 33 commits are kept"
    cleaned = CleanRequest(base_path=looked.storage.uri)
    clean(cleaned, storage=looked.storage, clock=FixedClock(datetime.now(timezone.utc) + timedelta(days=1)))
    after = looked.report(later=timedelta(days=1))
    assert (after.measures["commits_to_clean"], after.measures["commits_since_clean"]) == (0, 0)
    # A file version from before stays, with which the earliest retained commit is read.
    assert (report.measures["outdated_files"], after.measures["outdated_files"]) == (32, 10)


@VERSIONS
def test_small_files_that_clustering_would_merge(version: TableVersion) -> None:
    looked = Looked(version)
    looked.table.commit(A, A2, B)
    report = looked.report()
    assert (report.measures["small_files"], report.measures["small_file_ratio"]) == (
        2,
        pytest.approx(2 / 3, abs=1e-3),
    )
    assert [(p.partition_path, p.small_file_count) for p in report.partitions] == [("a", 2)]
    assert (report.status, [f.measure for f in report.findings]) == ("warning", ["small_file_ratio"])
    assert looked.report(small_file_limit_bytes=4).status == "healthy"


@VERSIONS
def test_a_dead_write_and_what_it_left(version: TableVersion) -> None:
    looked = Looked(version)
    looked.table.commit(A)
    dead = looked.table.begin()
    looked.table.add_file("a", base_file_name("f9", dead.requested_time))
    young = looked.pending(later=timedelta(hours=-1.5))
    assert (young.is_dead, young.heartbeat) == (False, "none")
    pending = looked.pending()
    assert (pending.is_dead, pending.action, pending.state) == (True, "commit", "inflight")
    assert "its writer died" in pending.meaning
    assert "rolled back first" in pending.next_step
    assert any("cleaning and archival" in each for each in pending.blocks)
    # Its files are its own until it is rolled back; then they would be leftovers.
    assert looked.report().measures["leftover_files"] == 0
    looked.storage.write(heartbeat_path(dead.requested_time), b"somebody")
    assert (looked.pending().heartbeat, looked.pending().is_dead) == ("alive", False)
    assert looked.pending(later=timedelta(minutes=10)).heartbeat == "expired"
    looked.table.timeline_store.remove(dead)
    looked.table.commit(A)
    report = looked.report()
    assert report.measures["leftover_files"] == 1
    assert report.leftover_examples == (f"a/{base_file_name('f9', dead.requested_time)}",)


@VERSIONS
def test_a_forgotten_clustering_plan(version: TableVersion) -> None:
    looked = Looked(version)
    looked.table.commit(A, A2)
    looked.plan_clustering(A, A2)
    pending = looked.pending(later=timedelta(hours=-1.8))
    assert (pending.operation, pending.file_groups, pending.is_dead) == ("CLUSTER", 2, False)
    assert "planned and not begun" in pending.meaning
    pending = looked.pending(later=timedelta(days=2))
    assert "forgotten" in pending.meaning
    assert "2 file groups" in pending.blocks[0]
    report = looked.report(later=timedelta(days=2))
    assert "oldest_pending_hours" in {each.measure for each in report.findings}


@VERSIONS
def test_cleans_rollbacks_restores_and_savepoints_that_died(version: TableVersion) -> None:
    looked = Looked(version)
    commit = looked.table.commit(A)
    looked.table.timeline_store.begin_savepoint(commit.requested_time)
    looked.table.timeline_store.request(
        Action.CLEAN, encode_clean_plan(CleanPlan(policy="KEEP_LATEST_COMMITS"))
    )
    looked.table.begin(Action.ROLLBACK)
    looked.table.begin(Action.RESTORE)
    found = {each.action: each for each in looked.report().pending}
    assert found.keys() == {"savepoint", "clean", "rollback", "restore"}
    assert all(each.is_dead for each in found.values())
    assert found["restore"].blocks == ("every write and table service",)
    assert looked.report().measures["dead_instants"] == 4


@VERSIONS
def test_an_instant_of_zero_bytes_fails_always(version: TableVersion) -> None:
    looked = Looked(version)
    commit = looked.table.commit(A)
    looked.storage.write(looked.table.timeline_store.path_of(commit), b"")
    with pytest.raises(UnhealthyTableError, match="cannot be trusted.*zero bytes") as caught:
        looked.result()
    report = caught.value.health
    assert report is not None
    assert (report.status, report.measures) == ("failing", {"damaged": 1.0})
    failed = JobResult.failed(HealthRequest(base_path="/t"), caught.value)
    assert failed.health == report
    assert JobResult.from_json(failed.to_json()) == failed


def test_limits_that_fail_and_limits_that_warn() -> None:
    looked = Looked(TableVersion.V9)
    looked.table.commit(A, A2)
    with pytest.raises(UnhealthyTableError, match=r"small_file_ratio is 1, above 0.9"):
        looked.result(fail_above={"small_file_ratio": "0.9"})
    result = looked.result(warn_above={"small_file_ratio": "1", "active_commits": "0"})
    assert result.warnings == (
        "active_commits is 1, above 0. Archive the timeline: readers list and load all of it.",
    )


def test_a_table_of_another_name_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="is called 'trips', the request says 'flights'"):
        Looked(TableVersion.V9).result(table_name="flights")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"warn_above": {"small_file_ration": "1"}}, "Did you mean small_file_ratio"),
        ({"fail_above": {"small_files": "many"}}, "small_files=many is not a number"),
        ({"fail_above": {"small_files": "nan"}}, "small_files=nan is not a number"),
        ({"small_file_limit_bytes": -1}, "below 0"),
    ],
)
def test_what_cannot_be_asked(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        HealthRequest(base_path="/t", **fields)


def test_flags_become_the_request() -> None:
    command = TABLE_HEALTH.parse(
        [
            "--base-path=/t",
            "--warn-above=small_files=3",
            "--fail-above",
            "dead_instants=0",
            "--fail-above=damaged=0",
        ]
    )
    request = command.request
    assert isinstance(request, HealthRequest)
    assert (request.warn_above, request.fail_above) == (
        {"small_files": "3"},
        {"dead_instants": "0", "damaged": "0"},
    )
    assert TABLE_HEALTH.read(request.to_json()).to_json() == request.to_json()
    assert json.loads(request.to_json())["warn_above"] == {"small_files": "3"}
