"""The health report on metadata tables of real Hudi: intact, incomplete, damaged, and different from the folders."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from hudi_table_services.contract.health import MEASURES, HealthReport, HealthRequest
from hudi_table_services.contract.health_text import health_lines
from hudi_table_services.contract.result import FileStats, JobResult
from hudi_table_services.errors import UnhealthyTableError
from hudi_table_services.hudi_format.metadata_table.index_definitions import PATH, encode_index_definitions
from hudi_table_services.hudi_format.table_properties import decode_properties, encode_properties
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage import timeline_store
from hudi_table_services.storage.metadata_table.table_listing import Reason
from hudi_table_services.storage.table_store import METADATA_TABLE, PROPERTIES
from support.depth import by_depth
from support.fixed_clock import FixedClock
from support.metadata_table.maintained_tables import A, C, Write, access, copied, maintained, ticking
from support.metadata_table.whole_metadata_golden import NAMES, VERSIONS, WholeTable, whole_table

EACH = pytest.mark.parametrize(("version", "name"), [(v, n) for v in VERSIONS for n in NAMES], ids=str)
EACH_VERSION = pytest.mark.parametrize("version", VERSIONS, ids=str)
MEASURED = {name for name in MEASURES if name.startswith("metadata_")} - {"metadata_wrong_statistics"}
"""Measures of the metadata table that the default check takes."""


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jobs read damaged files again without a pause."""
    monkeypatch.setattr(timeline_store, "_PAUSES", (0.0,))


def golden(version: TableVersion, name: str = "copy_on_write") -> WholeTable:
    table = whole_table(version, name)
    table.put_data_files()
    return table


def result_of(table: WholeTable, **fields: Any) -> JobResult:
    request = HealthRequest(base_path=table.storage.uri, **fields)
    before = {(f.path, f.size_bytes) for f in table.storage.list_files()}
    result = table_health(request, storage=table.storage, clock=FixedClock())
    assert {(f.path, f.size_bytes) for f in table.storage.list_files()} == before
    return result


def report_of(table: WholeTable, **fields: Any) -> HealthReport:
    report = result_of(table, **fields).report_as(HealthReport)
    assert report is not None
    return report


def set_properties(table: WholeTable, **changed: str) -> None:
    """Change properties; in the names, two underscores stand for a dot."""
    pairs = dict(decode_properties(table.storage.read(PROPERTIES)))
    pairs |= {name.replace("__", "."): value for name, value in changed.items()}
    pairs.pop("hoodie.table.checksum", None)
    table.storage.write(PROPERTIES, encode_properties(pairs, saved_at=FixedClock().now()))


def warned(report: HealthReport) -> set[str]:
    return {each.measure for each in report.findings if each.measure.startswith("metadata_")}


def only_metadata(measures: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in measures.items() if name in MEASURED}


@EACH
def test_an_intact_metadata_table_has_no_findings(version: TableVersion, name: str) -> None:
    table = golden(version, name)
    report = report_of(table)
    state, measures = report.metadata_table_state, report.measures
    assert warned(report) == set(), health_lines(report, FileStats())
    assert only_metadata(measures).keys() == MEASURED
    assert (state.unusable, state.problem, state.not_compared) == ("", "", "")
    sizes = [f.size_bytes for f in table.storage.list_files(METADATA_TABLE)]
    assert measures["metadata_bytes"] == sum(sizes)
    own = table.metadata_table().timeline
    compactions = [i.requested_time for i in own.completed if i.action is Action.COMMIT]
    assert state.last_compaction == max(compactions, default="")
    assert measures["metadata_log_files"] > 0
    assert 0 < measures["metadata_log_bytes"] < sum(sizes)


@EACH_VERSION
def test_the_result_document_contains_the_state(version: TableVersion) -> None:
    table = golden(version)
    lost = sorted(table.files.items())[0]
    table.storage.write(f"{lost[0]}/{min(lost[1])}", b"")
    result = result_of(table, fail_above={"missing_files": "9"})
    report = result.report_as(HealthReport)
    assert report is not None
    assert report.metadata_table_state.difference_examples
    assert read_result(result.to_json()) == result


@EACH
def test_differences_from_the_folders_are_counted_and_shown(version: TableVersion, name: str) -> None:
    table = golden(version, name)
    path, sizes = next((path, sizes) for path, sizes in sorted(table.files.items()) if len(bases(sizes)) > 1)
    gone, cut = bases(sizes)[:2]
    extra = f"{path}/extra-0_0-1-2_{gone.rpartition('_')[2]}"
    table.storage.delete(f"{path}/{gone}")
    table.storage.write(f"{path}/{cut}", b"short")
    table.storage.write(extra, b"rows")
    report = report_of(table, fail_above={"missing_files": "9"})
    assert (report.measures["metadata_missing_files"], report.measures["metadata_unlisted_files"]) == (2, 1)
    assert report.metadata_table_state.difference_examples == (
        *sorted(
            (
                f"{path}/{gone}: listed, but does not exist",
                f"{path}/{cut}: listed with {sizes[cut]} bytes, but has 5",
            )
        ),
        f"{extra}: not listed",
    )
    assert warned(report) == {"metadata_missing_files", "metadata_unlisted_files"}
    lines = health_lines(report, FileStats())
    assert f"  difference: {extra}: not listed" in lines


def bases(sizes: Mapping[str, int]) -> list[str]:
    return [name for name in sorted(sizes) if name.endswith(".parquet")]


@EACH_VERSION
def test_differences_are_not_compared_while_a_clean_deletes_files(version: TableVersion) -> None:
    table = golden(version)
    path, sizes = sorted(table.files.items())[0]
    table.storage.delete(f"{path}/{bases(sizes)[0]}")
    table.storage.write(f"{version.layout.timeline_folder}/20990101000000000.clean.requested", b"")
    report = report_of(table, fail_above={"missing_files": "9"})
    assert report.metadata_table_state.not_compared == "list of files: clean 20990101000000000 is pending"
    assert "metadata_missing_files" not in report.measures
    assert warned(report) == set()


@EACH_VERSION
def test_commits_that_a_writer_did_not_add_to_the_metadata_table_are_found(version: TableVersion) -> None:
    table = golden(version)
    own = table.metadata_table()
    last = [i for i in own.timeline.completed if i.action is Action.DELTA_COMMIT][-1].requested_time
    for stored in list(table.storage.list_files(METADATA_TABLE)):
        if last in stored.name and "/.hoodie/" in stored.path:
            table.storage.delete(stored.path)
    report = report_of(table)
    assert report.measures["metadata_commits_behind"] == 1
    assert report.metadata_table_state.missing_instants == (last,)
    assert report.metadata_table_state.unusable == Reason.BEHIND.value
    assert warned(report) == {"metadata_commits_behind", "metadata_unusable"}


@EACH_VERSION
def test_a_damaged_metadata_table_is_a_warning_and_no_failure(version: TableVersion) -> None:
    table = golden(version)
    warnings = 0
    paths = [stored.path for stored in table.storage.list_files(METADATA_TABLE)]
    for number, path in enumerate(paths[:: by_depth(3, 1)]):
        content = table.storage.read(path)
        damaged = (None, b"", content[: len(content) // 2], b"\0" + content[1:])[number % 4]
        table.storage.delete(path) if damaged is None else table.storage.write(path, damaged)
        warnings += report_of(table).status == "warning"
        table.storage.write(path, content)
    assert warnings
    assert warned(report_of(table)) == set()


@EACH_VERSION
def test_a_metadata_table_without_files_is_unusable(version: TableVersion) -> None:
    table = golden(version)
    table.storage.delete_folder(METADATA_TABLE)
    report = report_of(table)
    assert report.metadata_table_state.unusable == Reason.ABSENT.value
    assert (report.measures["metadata_unusable"], report.measures["metadata_bytes"]) == (1, 0)
    with pytest.raises(
        UnhealthyTableError, match=r"Unusable metadata table \(metadata_unusable\): 1, above 0"
    ):
        report_of(table, fail_above={"metadata_unusable": "0"})


@EACH_VERSION
def test_a_lost_file_of_an_index_is_a_problem_although_the_table_can_be_listed(version: TableVersion) -> None:
    table = golden(version)
    index = next((p for p in table.config.metadata_partitions if p != "files"), None)
    if index is None:
        table.storage.write(f"{METADATA_TABLE}/column_stats/wrong-name_0-0-0_20240101000000000.hfile", b"")
        set_properties(table, hoodie__table__metadata__partitions="column_stats,files")
        index = "column_stats"
    first = min(
        f.path for f in table.storage.list_files(f"{METADATA_TABLE}/{index}") if f.path.endswith(".hfile")
    )
    name = first.rpartition("/")[2]
    table.storage.write(f"{METADATA_TABLE}/{index}/col-stats-0099-0_{name.partition('_')[2]}", b"")
    state = report_of(table).metadata_table_state
    assert (state.unusable, state.path) == ("", f"{METADATA_TABLE}/{index}")


@EACH_VERSION
def test_the_reason_why_jobs_refuse_changes_is_named(version: TableVersion) -> None:
    table = golden(version)
    set_properties(table, hoodie__table__metadata__partitions="files,expr_index_day")
    state = report_of(table).metadata_table_state
    assert "the index expr_index_day" in state.refusal
    assert "--drop expr_index_day" in state.refusal


@EACH_VERSION
@pytest.mark.parametrize("is_partitioned", [True, False])
def test_jobs_accept_a_record_index_of_either_kind(version: TableVersion, is_partitioned: bool) -> None:
    table = golden(version)
    set_properties(table, hoodie__table__metadata__partitions="files,record_index")
    options = {"isPartitioned": str(is_partitioned).lower()}
    index = IndexDefinition(
        name="record_index",
        index_type="record_index",
        function="",
        source_fields=(),
        options=options,
        version="V1",
    )
    table.storage.write(PATH, encode_index_definitions({"record_index": index}))
    assert report_of(table).metadata_table_state.refusal == ""


@EACH_VERSION
def test_an_index_that_a_writer_is_building_is_no_finding(version: TableVersion) -> None:
    table = golden(version)
    set_properties(
        table,
        hoodie__table__metadata__partitions="",
        hoodie__table__metadata__partitions__inflight="files",
    )
    report = report_of(table)
    assert report.metadata_table_state.being_built == ("files",)
    assert report.metadata_table_state.unusable == Reason.BEING_BUILT.value
    assert warned(report) == set()


@EACH_VERSION
def test_the_newest_delta_commit_is_reported_if_its_instant_was_deleted(version: TableVersion) -> None:
    """Readers assume that the delta commit belongs to a running write, so only the health report finds it."""
    storage = copied(maintained(version))
    newest = Write((A, C), "w3", 3)(storage, ticking(1))
    request = HealthRequest(base_path=storage.uri)
    for is_orphan in (False, True):
        if is_orphan:
            access(storage, ticking(2)).timeline_store.remove_completed(newest)
            access(storage, ticking(2)).timeline_store.remove(replace(newest, completion_time=None))
        report = table_health(request, storage=storage, clock=ticking(2)).report_as(HealthReport)
        assert report is not None
        assert report.measures["metadata_commits_ahead"] == is_orphan
        assert ("metadata_commits_ahead" in warned(report)) is is_orphan
        unexplained = report.metadata_table_state.unexplained_instants
        assert unexplained == ((newest.requested_time,) if is_orphan else ())
