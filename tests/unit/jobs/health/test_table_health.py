"""The health job on tables without rows: measures, small files, limits, requests."""

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from checked_table import A2, VERSIONS, A, B, CheckedTable

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.health import FEW_SMALL_FILES, MEASURES, HealthReport, HealthRequest
from hudi_table_services.contract.metadata_table import MetadataTableHealth
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError, UnhealthyTableError
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import FILE_SIZES_KEY
from hudi_table_services.services.flag_names import naming_flags
from hudi_table_services.services.health import TABLE_HEALTH
from hudi_table_services.services.registry import read_result
from support.fixed_clock import FixedClock


@VERSIONS
def test_a_table_without_problems_is_healthy(version: TableVersion) -> None:
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
