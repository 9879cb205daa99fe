"""The health job on tables without rows: measures, pending instants, failures."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.health import (
    FEW_SMALL_FILES,
    MEASURES,
    HealthReport,
    HealthRequest,
    PendingInstant,
)
from hudi_table_services.contract.health_text import health_lines
from hudi_table_services.contract.metadata_table import MetadataTableHealth
from hudi_table_services.contract.result import FileStats, JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError, UnhealthyTableError
from hudi_table_services.hudi_format.table_service_plans import encode_clean_plan, encode_requested_replace
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import (
    CleanPlan,
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import FILE_SIZES_KEY
from hudi_table_services.services.flag_names import naming_flags
from hudi_table_services.services.health import TABLE_HEALTH
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import FolderListing, Storage
from support.archived_tables import History
from support.faulty_storage import FaultyStorage
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, A2, B = FileGroupId("a", "f1"), FileGroupId("a", "f2"), FileGroupId("b", "f3")


class CheckedTable:
    """A table that was created two hours ago, and helpers that run the health job on the table."""

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
        report = self.result(later, **fields).report
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
def test_a_healthy_table(version: TableVersion) -> None:
    checked = CheckedTable(version)
    for _ in range(3):
        newest = checked.table.commit(A, B)
    result = checked.result()
    report = result.report
    assert report is not None
    assert (result.outcome, report.status, report.findings, report.pending) == (
        Outcome.COMPLETED,
        "healthy",
        (),
        (),
    )
    assert (report.last_commit, report.last_clean, report.partition_count) == (newest.requested_time, "", 2)
    assert report.measures.keys() == {name for name in MEASURES if not name.startswith("metadata_")}
    assert report.metadata_table_state == MetadataTableHealth()
    assert report.measures["active_commits"] == report.measures["commits_since_clustering"] == 3
    assert (report.measures["outdated_files"], report.measures["outdated_bytes"]) == (4, 16)
    assert 1.8 < report.measures["hours_since_commit"] < 2.1
    # One small file in each partition is the best possible state.
    assert (report.measures["small_files"], report.measures["small_file_ratio"]) == (0, 0)
    assert read_result(result.to_json()) == result


@VERSIONS
def test_commits_to_clean_and_commits_to_archive_are_counted(version: TableVersion) -> None:
    checked = CheckedTable(version)
    for _ in range(33):
        checked.table.commit(A)
    report = checked.report()
    assert report.measures["commits_to_clean"] == 33 - 10
    assert report.measures["commits_to_archive"] == 33 - 20
    assert report.retention == "cleaning keeps 10 of 33 commits"
    cleaned = CleanRequest(base_path=checked.storage.uri)
    clean(cleaned, storage=checked.storage, clock=FixedClock(datetime.now(timezone.utc) + timedelta(days=1)))
    after = checked.report(later=timedelta(days=1))
    assert (after.measures["commits_to_clean"], after.measures["commits_since_clean"]) == (0, 0)
    # The clean keeps one file version before the earliest retained commit, because readers of that commit need it.
    assert (report.measures["outdated_files"], after.measures["outdated_files"]) == (32, 10)


@VERSIONS
def test_small_files_that_clustering_would_merge_are_counted(version: TableVersion) -> None:
    checked = CheckedTable(version)
    checked.table.commit(A, A2, B)
    report = checked.report()
    assert (report.measures["small_files"], report.measures["small_file_ratio"]) == (
        2,
        pytest.approx(2 / 3, abs=1e-3),
    )
    assert [(p.partition_path, p.small_file_count) for p in report.partitions] == [("a", 2)]
    assert (report.small_file_limit_bytes, report.small_file_limit_source) == (100 << 20, "default")
    asked = checked.report(small_file_limit_bytes=4)
    assert (asked.measures["small_files"], asked.small_file_limit_source) == (0, "request")


def test_the_result_of_a_failed_check_contains_the_live_files() -> None:
    checked = CheckedTable(TableVersion.V9)
    checked.table.commit(A, B)
    request = HealthRequest(base_path=checked.storage.uri, fail_above={"active_commits": 0})
    with pytest.raises(UnhealthyTableError) as failed:
        table_health(request, storage=checked.storage)
    named = naming_flags(failed.value, {"fail_above": "--fail-above"}, ())
    result = read_result(JobResult.failed(request, named).to_json())
    assert (result.outcome, result.files_after.file_count) == (Outcome.FAILED, 2)
    assert result.files_before == result.files_after
    report = result.report_as(HealthReport)
    assert report is not None
    assert report.live_files == result.files_after


def test_few_small_files_cause_no_warning_by_default() -> None:
    checked = CheckedTable(TableVersion.V9)
    checked.table.commit(*(FileGroupId("a", f"f{number}") for number in range(FEW_SMALL_FILES)))
    few = checked.report()
    assert (few.measures["small_file_ratio"], few.status) == (1, "healthy")
    asked = checked.report(warn_above={"small_file_ratio": "0.5"})
    assert [each.measure for each in asked.findings] == ["small_file_ratio"]
    checked.table.commit(FileGroupId("a", "one more"))
    many = checked.report()
    assert (many.status, [each.measure for each in many.findings]) == ("warning", ["small_file_ratio"])


def test_small_files_are_judged_by_the_limit_of_the_writers() -> None:
    checked = CheckedTable(TableVersion.V9)
    sizes = {"hoodie.parquet.max.file.size": 6, "hoodie.parquet.small.file.limit": 5}
    checked.table.commit(A, A2, extra={FILE_SIZES_KEY: json.dumps(sizes)})
    report = checked.report()
    assert (report.small_file_limit_bytes, report.small_file_limit_source) == (5, "writers")
    assert report.measures["small_files"] == 2
    sizes["hoodie.parquet.small.file.limit"] = 4
    checked.table.commit(B, extra={FILE_SIZES_KEY: json.dumps(sizes)})
    assert checked.report().measures["small_files"] == 0


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
def test_copies_of_data_files_in_other_folders_are_leftovers(version: TableVersion) -> None:
    checked = CheckedTable(version)
    name = base_file_name("f1", checked.table.commit(A, B).requested_time)
    copy = checked.table.add_file("b", name)
    checked.storage.write(f"no/partition/{name}", b"PAR1")
    report = checked.report()
    assert report.leftover_examples == (copy, f"no/partition/{name}")
    assert (report.measures["leftover_files"], report.measures["leftover_bytes"]) == (2, 8)
    assert (report.status, report.findings[0].measure) == ("warning", "leftover_files")
    # A moved file is the only copy, so it is not a leftover.
    checked.storage.delete(f"a/{name}")
    checked.storage.delete(f"no/partition/{name}")
    assert "leftover_files" not in {each.measure for each in report_even_if_failing(checked).findings}


def report_even_if_failing(checked: CheckedTable) -> HealthReport:
    try:
        return checked.report()
    except UnhealthyTableError as error:
        if error.evidence is None:
            raise
        return error.evidence


@VERSIONS
@pytest.mark.parametrize(
    ("left", "fault"),
    [(None, "gone"), (b"", "empty"), (b"PAR", "3 bytes instead of 4")],
    ids=["gone", "emptied", "cut"],
)
def test_a_missing_file_always_fails_the_check(version: TableVersion, left: bytes | None, fault: str) -> None:
    checked = CheckedTable(version)
    checked.table.commit(A, B)
    path = f"a/{base_file_name('f1', checked.table.commit(A).requested_time)}"
    checked.storage.delete(path)
    if left is not None:
        checked.storage.write(path, left)
    with pytest.raises(UnhealthyTableError, match=r"Missing files \(missing_files\): 1, above 0") as caught:
        checked.result()
    assert "run no clustering" in (caught.value.hint or "")
    report = caught.value.evidence
    assert report is not None
    assert (report.status, report.missing_examples) == ("failing", (f"{path}: {fault}",))
    assert f"  missing: {path}: {fault}" in health_lines(report, FileStats())
    failed = JobResult.failed(HealthRequest(base_path="/t"), caught.value)
    assert read_result(failed.to_json()) == failed
    assert checked.report(fail_above={"missing_files": "1"}).status == "healthy"


@VERSIONS
def test_outdated_files_and_files_of_an_unfinished_restore_are_not_missing(version: TableVersion) -> None:
    checked = CheckedTable(version)
    first = checked.table.commit(A, A2, B).requested_time
    checked.table.commit(A)
    checked.table.commit(B, replaces={"a": ("f2",)})
    for group in (A, A2):
        checked.storage.delete(f"{group.partition_path}/{base_file_name(group.file_id, first)}")
    assert checked.report().measures["missing_files"] == 0
    checked.table.begin(Action.RESTORE)
    checked.storage.delete(f"b/{base_file_name('f3', first)}")
    assert "missing_files" not in checked.report().measures


@VERSIONS
def test_a_file_that_an_archived_write_replaced_is_not_missing(
    version: TableVersion,
) -> None:
    history = History(version)
    folder = history.table.config.table_version.layout.timeline_folder
    path = f"a/{base_file_name('f2', history.commits(1, A2)[0].requested_time)}"
    kept = {f.path: history.storage.read(f.path) for f in history.storage.list_folder(folder).files}
    history.commits(1, A, replaces={"a": ("f2",)})
    history.commits(8, A)
    history.clean(retained=1)
    history.archive()
    for each, content in kept.items():
        history.storage.write(each, content)
    assert not history.storage.exists(path)
    assert len(history.archived()) > 1
    checked = CheckedTable(version)
    checked.storage = history.storage
    assert checked.report(later=timedelta(days=2)).measures["missing_files"] == 0
    newest = f"a/{base_file_name('f1', history.active()[-1])}"
    history.storage.delete(newest)
    with pytest.raises(UnhealthyTableError) as caught:
        checked.report(later=timedelta(days=2))
    assert caught.value.evidence is not None
    assert caught.value.evidence.missing_examples == (f"{newest}: gone",)


@VERSIONS
def test_foreign_files_in_partitions_are_counted(version: TableVersion) -> None:
    checked = CheckedTable(version)
    checked.table.commit(A, B)
    for path in ("b/my_copy.parquet", "a/x.csv", "a/_SUCCESS", "a/.x.parquet.crc", "no/partition/y.parquet"):
        checked.storage.write(path, b"PAR1")
    result = checked.result()
    report = result.report
    assert report is not None
    assert report.foreign_examples == ("a/x.csv", "b/my_copy.parquet")
    assert [(f.level, f.measure, f.value) for f in report.findings] == [("warn", "foreign_files", 2)]
    assert "  foreign: b/my_copy.parquet" in health_lines(report, FileStats())
    assert read_result(result.to_json()) == result


class ChangedDuringListing(FaultyStorage):
    """A storage that runs a write and a clean during the second listing."""

    def __init__(self, inner: Storage, work: Callable[[], None]) -> None:
        super().__init__(inner)
        self._work, self._looks = work, 0

    def list_folder(self, folder: str = "") -> FolderListing:
        if folder == "a":
            self._looks += 1
            if self._looks == 2:
                self._work()
        return super().list_folder(folder)


@VERSIONS
def test_a_file_that_is_cleaned_during_the_check_is_not_missing(version: TableVersion) -> None:
    checked = CheckedTable(version)
    old = checked.table.commit(A).requested_time

    def write_and_clean() -> None:
        checked.table.commit(A)
        checked.storage.delete(f"a/{base_file_name('f1', old)}")

    request = HealthRequest(base_path=checked.storage.uri)
    clock = FixedClock(datetime.now(timezone.utc))
    result = table_health(
        request, storage=ChangedDuringListing(checked.storage, write_and_clean), clock=clock
    )
    assert not checked.storage.exists(f"a/{base_file_name('f1', old)}")
    assert result.report is not None
    assert result.report.measures["missing_files"] == 0


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


def test_a_measure_above_its_limit_gives_a_failure_or_a_warning() -> None:
    checked = CheckedTable(TableVersion.V9)
    checked.table.commit(A, A2)
    with pytest.raises(UnhealthyTableError, match=r"small_file_ratio\): 1, above 0.9"):
        checked.result(fail_above={"small_file_ratio": "0.9"})
    result = checked.result(warn_above={"small_file_ratio": "1", "active_commits": "0"})
    assert result.warnings == (
        "Commits on the active timeline (active_commits): 1, above 0. Archive the timeline: readers list and load all "
        "of it. With Hudi's defaults, archival begins above 30 commits; to keep fewer, set hoodie.keep.max.commits and "
        "hoodie.keep.min.commits.",
    )


def test_a_table_name_that_differs_from_the_request_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="is called 'trips', but the request names 'flights'"):
        CheckedTable(TableVersion.V9).result(table_name="flights")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"warn_above": {"small_file_ration": "1"}}, "Did you mean small_file_ratio"),
        ({"fail_above": {"small_files": "many"}}, "small_files=many is not a number"),
        ({"fail_above": {"small_files": "nan"}}, "small_files=nan is not a number"),
        ({"small_file_limit_bytes": -1}, "below 0"),
    ],
)
def test_invalid_requests_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        HealthRequest(base_path="/t", **fields)


def test_flags_are_parsed_into_the_request() -> None:
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
