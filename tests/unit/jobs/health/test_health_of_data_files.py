"""The health job on tables without rows: leftovers, missing files and foreign files."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
from checked_table import A2, VERSIONS, A, B, CheckedTable

from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.contract.health_text import health_lines
from hudi_table_services.contract.result import FileStats, JobResult
from hudi_table_services.errors import UnhealthyTableError
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage.stores.storage import FolderListing, Storage
from support.archived_tables import History
from support.faulty_storage import FaultyStorage
from support.fixed_clock import FixedClock
from support.small_tables import base_file_name


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
