"""The configuration check: what the job reads from a table, when the job fails, and what its result contains."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hudi_table_services import cli
from hudi_table_services.contract.config_check import CheckConfigRequest, ConfigReport
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import InvalidRequestError, UnsafeConfigError
from hudi_table_services.hudi_format.metadata_table.index_definitions import PATH, encode_index_definitions
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.check_config import check_table_config
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.services.config_check import CHECK_CONFIG
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.table_store import PROPERTIES, read_table_config
from support.metadata_table.whole_metadata_golden import VERSIONS as METADATA_VERSIONS
from support.metadata_table.whole_metadata_golden import whole_table
from support.small_tables import SmallTable

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
WRITE = "hoodie.datasource.write."
SELECTED = "hoodie.clustering.plan.strategy.partition.selected"
SMALL_MINIMUM = {"hoodie.keep.min.commits": "3"}
A = FileGroupId("city=a", "f1")


def check(storage: MemoryStorage | None = None, **fields: Any) -> ConfigReport:
    fields.setdefault("fail_on", "never")
    request = CheckConfigRequest(base_path=storage.uri if storage else "", **fields)
    before = [(f.path, f.size_bytes) for f in storage.list_files()] if storage else []
    result = check_table_config(request, storage=storage)
    assert before == ([(f.path, f.size_bytes) for f in storage.list_files()] if storage else [])
    assert (result.outcome, result.operation) == (Outcome.COMPLETED, "check_config")
    assert read_result(result.to_json()) == result
    assert result.report is not None
    return result.report


def rules(report: ConfigReport) -> set[str]:
    return {each.rule for each in report.findings}


def a_table(version: TableVersion) -> SmallTable:
    return SmallTable(MemoryStorage(uuid4().hex), version)


def test_options_are_checked_without_a_table() -> None:
    report = check(options=SMALL_MINIMUM)
    assert (report.status, report.table, rules(report)) == ("error", "", {"archival-before-cleaning"})


@VERSIONS
def test_options_are_compared_with_properties_and_partitions_of_the_table(version: TableVersion) -> None:
    table = a_table(version)
    table.commit(A)
    options = {f"{WRITE}partitionpath.field": "day", SELECTED: "a"}
    report = check(table.storage, options=options)
    assert report.table == "trips"
    assert rules(report) == {"differs-from-table", "selector-matches-nothing"}
    assert (
        rules(check(table.storage, options={f"{WRITE}partitionpath.field": "city", SELECTED: "city=a"}))
        == set()
    )


@VERSIONS
def test_an_overwrite_of_file_groups_in_a_pending_plan_is_a_finding(version: TableVersion) -> None:
    table = a_table(version)
    table.commit(A)
    overwrite = {f"{WRITE}operation": "insert_overwrite"}
    facts = {"engine": "hudi"}
    assert "overwrite-under-plan" not in rules(check(table.storage, options=overwrite, facts=facts))
    part = ClusteringSlice(partition_path=A.partition_path, file_id=A.file_id, data_file_path="x")
    plan = ClusteringPlan(groups=(ClusteringGroup(slices=(part,)),))
    action = Action.CLUSTERING if version >= TableVersion.V8 else Action.REPLACE_COMMIT
    instant = table.timeline_store.request(action, encode_requested_replace(plan))
    (finding,) = check(table.storage, options=overwrite, facts=facts).findings
    assert (finding.rule, finding.severity) == ("overwrite-under-plan", "error")
    assert instant.requested_time in finding.reason


def test_the_job_counts_the_commits_of_the_active_timeline() -> None:
    table = a_table(TableVersion.V9)
    for _ in range(7):
        table.commit(A)
    options = {
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
    }
    assert rules(check(table.storage, options=options)) == {"timeline-too-long"}
    assert rules(check(table.storage, options={**options, "hoodie.keep.max.commits": "4"})) == set()


def test_an_unknown_table_version_is_a_finding() -> None:
    table = a_table(TableVersion.V9)
    text = table.storage.read(PROPERTIES).decode().replace("table.version=9", "table.version=12")
    table.storage.write(PROPERTIES, text.encode())
    assert rules(check(table.storage)) == {"table-not-written"}


@pytest.mark.parametrize("version", METADATA_VERSIONS, ids=str)
def test_an_index_of_a_real_table_that_jobs_cannot_update_is_a_finding(version: TableVersion) -> None:
    storage = whole_table(version, "copy_on_write").storage
    assert isinstance(storage, MemoryStorage)
    report = check(storage)
    names = read_table_config(storage).metadata_partitions
    assert "metadata-table-stale" not in rules(report)
    if version is not TableVersion.V6:
        assert "secondary_index_names" in names
        storage.delete(PATH)
        reasons = [each.reason for each in check(storage).findings if each.rule == "metadata-table-stale"]
        assert ["secondary_index_names, but the table has no definition" in reason for reason in reasons] == [
            True
        ]
    report = check(storage, options={"hoodie.metadata.enable": "false"})
    (deleted,) = (each for each in report.findings if each.rule == "metadata-table-deleted")
    assert ", ".join(names) in deleted.reason


@VERSIONS
def test_a_record_index_for_each_partition_agrees_with_the_index_type(version: TableVersion) -> None:
    table = a_table(version)
    content = table.storage.read(PROPERTIES)
    table.storage.write(PROPERTIES, content + b"hoodie.table.metadata.partitions=files,record_index\n")
    assert rules(check(table.storage)) == set()
    index = IndexDefinition(
        name="record_index",
        index_type="record_index",
        function="",
        source_fields=(),
        options={"isPartitioned": "true"},
    )
    table.storage.write(PATH, encode_index_definitions({"record_index": index}))
    assert rules(check(table.storage)) == set()
    options = {"hoodie.index.type": "RECORD_INDEX"}
    assert rules(check(table.storage, options=options)) == {"record-index-unused"}


@VERSIONS
def test_the_newest_write_shows_whether_the_bucket_index_fits(version: TableVersion) -> None:
    table = a_table(version)
    table.commit(FileGroupId("city=a", "00000004-1111-2222-3333-444444444444-0"))
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "5"}
    assert rules(check(table.storage, options=options)) == set()
    fewer = {**options, "hoodie.bucket.index.num.buckets": "4"}
    assert rules(check(table.storage, options=fewer)) == {"buckets-differ-from-table"}
    table.commit(A)
    assert rules(check(table.storage, options=options)) == {"buckets-differ-from-table"}


def test_only_the_options_are_checked_if_the_base_path_has_no_table(tmp_path: Path) -> None:
    result = check_table_config(CheckConfigRequest(base_path=str(tmp_path / "new")))
    assert result.report is not None
    assert (result.report.status, result.report.table) == ("clean", "")
    assert "only the options were checked" in result.warnings[0]
    assert not (tmp_path / "new").exists()


def test_the_scheme_of_the_base_path_is_a_fact() -> None:
    request = CheckConfigRequest(base_path="s3://b/t")
    assert request.runtime.storage_scheme == "s3"
    assert CheckConfigRequest(base_path="/t").runtime.storage_scheme == "file"
    assert (
        CheckConfigRequest(base_path="/t", facts={"storage_scheme": "hdfs"}).runtime.storage_scheme == "hdfs"
    )
    assert CheckConfigRequest().runtime.storage_scheme == ""


@pytest.mark.parametrize(
    ("fail_on", "options", "fails"),
    [
        ("error", SMALL_MINIMUM, True),
        ("error", {"hoodie.clustering.inline": "true"}, False),
        ("warning", {"hoodie.clustering.inline": "true"}, True),
        ("warning", {"hoodie.upsert.shuffle.parallelism": "3"}, False),
        ("advice", {"hoodie.upsert.shuffle.parallelism": "3"}, True),
        ("advice", {}, False),
        ("never", SMALL_MINIMUM, False),
    ],
)
def test_fail_on_is_the_lowest_severity_that_fails_the_job(
    fail_on: str, options: dict[str, str], fails: bool
) -> None:
    request = CheckConfigRequest(options=options, fail_on=fail_on)
    if not fails:
        check_table_config(request)
        return
    with pytest.raises(UnsafeConfigError) as error:
        check_table_config(request)
    assert error.value.evidence is not None
    assert len(error.value.evidence.findings) == 1
    assert error.value.evidence.findings[0].cure in error.value.hint


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"fail_on": "eror"}, "Did you mean error?"),
        ({"fail_on": "x"}, "Use one of error, warning, advice, never"),
        ({"facts": {"writer": "2"}}, "Did you mean writers?"),
        ({"facts": {"writers": "two"}}, "whole number"),
        ({"facts": {"catchup": "yes"}}, "neither true nor false"),
        ({"facts": {"commits_per_day": "-1"}}, "number of 0 or more"),
        ({"facts": {"commits_per_day": "nan"}}, "number of 0 or more"),
        ({"facts": {"hudi_version": "newest"}}, "not a release"),
        ({"facts": {"engine": "flink"}}, "Give one of: native, hudi, both"),
        ({"facts": {"writers": 2}}, "write its value as a string"),
        ({"accepted_rules": ("archival-bound",)}, "Did you mean archival-bounds?"),
    ],
)
def test_invalid_requests_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        check_table_config(CheckConfigRequest(**fields))
    assert message in str(error.value)


def test_the_script_ends_with_exit_code_78_and_reports_its_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "result.json"
    flags = ["--option=hoodie.keep.min.commits=3", f"--result-path={document}"]
    assert cli.main(CHECK_CONFIG, flags) == 78
    result = read_result(document.read_text(encoding="utf-8"))
    assert (result.outcome, result.error.kind if result.error else "") == (
        Outcome.FAILED,
        "UnsafeConfigError",
    )
    assert result.report is not None
    assert rules(result.report) == {"archival-before-cleaning"}
    assert "Archival may leave only 3 commits on the active timeline" in capsys.readouterr().err
    assert cli.main(CHECK_CONFIG, [*flags, "--accept=archival-before-cleaning,refused-by-job"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["status"] == "clean"
    assert cli.main(CHECK_CONFIG, [*flags, "--fail-on=never", "--fact=writers=2"]) == 0


def test_the_script_checks_options_against_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V6)
    table.commit(A)
    flags = [
        f"--base-path={tmp_path / 't'}",
        f"--option={WRITE}table.type=MERGE_ON_READ",
        "--fact=engine=hudi",
    ]
    assert cli.main(CHECK_CONFIG, flags) == 78
    assert "differs-from-table" in capsys.readouterr().err
    assert cli.main(CHECK_CONFIG, [flags[0], "--table-name=other"]) == 64
    assert cli.main(CHECK_CONFIG, [flags[0]]) == 0
