"""Jobs that may not write or read parts of the table; the tests run as a user whom file modes restrict.

The error names the path and the missing permission, and the table stays unchanged. With the permission, the next run
succeeds.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import StoragePermissionError
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.writing.preflight import check_write
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import PROPERTIES
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.apart import as_unprivileged_user
from support.depth import cases
from support.jobs_on_tables import JOBS, READ_ONLY_JOBS, later, read_state
from support.small_tables import SmallTable
from support.undone_tables import a_table, updated

VERSIONS = pytest.mark.parametrize(
    "version", cases([TableVersion.V6, TableVersion.V9], [TableVersion.V9], lambda v: v.name)
)
START = datetime.now(timezone.utc) - timedelta(hours=3)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")
EXPECTED_ERROR = (
    r"Cannot .+ '.*': (Permission denied|Read-only file system).*Give the job's user read and write access"
)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that any user can reach and write, unlike `tmp_path`."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def without_permission(right: int, *places: Path) -> Iterator[None]:
    """Remove a permission (2: write, 4: read) from these places, and restore it."""
    before = {each: each.stat().st_mode for each in places}
    for each, mode in before.items():
        each.chmod(mode & ~(right * 0o111))
    try:
        yield
    finally:
        for each, mode in before.items():
            each.chmod(mode)


def everything(base: Path) -> list[Path]:
    return [base, *base.rglob("*")]


PARTS: dict[str, Callable[[Path], list[Path]]] = {
    "all": everything,
    ".hoodie": lambda base: everything(base / ".hoodie"),
}


@VERSIONS
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("job", JOBS)
def test_a_read_only_table_stays_unchanged_and_the_error_names_the_permission(
    job: str, part: str, version: TableVersion, place: Path
) -> None:
    def body() -> None:
        table = a_table(version, START, LocalStorage(str(place / "t")))
        act = JOBS[job](table)
        old = read_state(table)
        files = everything(place / "t")
        with without_permission(2, *PARTS[part](place / "t")):
            if job in READ_ONLY_JOBS:
                act(table.storage, later(1))
                return
            with pytest.raises(StoragePermissionError, match=EXPECTED_ERROR) as refusal:
                act(table.storage, later(1))
        assert not refusal.value.retryable
        assert read_state(table) == old
        assert everything(place / "t") == files
        act(table.storage, later(3))
        assert read_state(table) != old or job in ("repair orphans", "archive", "drop metadata table")

    as_unprivileged_user(body)


@VERSIONS
@pytest.mark.parametrize("job", JOBS)
def test_unreadable_properties_are_an_error(job: str, version: TableVersion, place: Path) -> None:
    def body() -> None:
        table = a_table(version, START, LocalStorage(str(place / "t")))
        act = JOBS[job](table)
        old = read_state(table)
        with (
            without_permission(4, place / "t" / PROPERTIES),
            pytest.raises(StoragePermissionError, match=r"hoodie\.properties': Permission denied"),
        ):
            act(table.storage, later(1))
        assert read_state(table) == old

    as_unprivileged_user(body)


@VERSIONS
def test_an_unreadable_commit_is_an_error(version: TableVersion, place: Path) -> None:
    def body() -> None:
        table = a_table(version, START, LocalStorage(str(place / "t")))
        table.commit(A, B)
        newest = updated(table, A)
        path = place / "t" / table.timeline_store.path_of(newest)
        with without_permission(4, path), pytest.raises(StoragePermissionError, match=newest.requested_time):
            load_snapshot(table.storage)

    as_unprivileged_user(body)


def files_in(table: SmallTable, partition: str) -> int:
    return sum(1 for each in table.storage.list_folder(partition).files if each.name.endswith(".parquet"))


@VERSIONS
def test_files_that_cannot_be_deleted_are_reported_and_deleted_by_a_later_clean(
    version: TableVersion, place: Path
) -> None:
    def body() -> None:
        table = a_table(version, START, LocalStorage(str(place / "t")))
        table.commit(A, B)
        updated(table, A, B)
        updated(table, A, B)
        request = CleanRequest(base_path="/t", commits_retained=1)
        with without_permission(2, place / "t" / "a"):
            first = clean(request, storage=table.storage, clock=later(1))
        assert first.outcome is Outcome.COMPLETED
        assert files_in(table, "a") == 3
        assert files_in(table, "b") == 2
        assert first.report is not None
        assert first.report.failed_count == 1
        table.clock.moment = later(1).moment + timedelta(minutes=5)
        updated(table, B)
        clean(request, storage=table.storage, clock=later(2))
        assert files_in(table, "a") <= 2
        live = {s.base_file_path for s in load_snapshot(table.storage).all_slices}
        assert all(table.storage.exists(path) for path in live if path)

    assert os.name == "posix"
    as_unprivileged_user(body)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "locked/lake/t",
            "cannot create the folder {place}/locked/lake: it has no write access to {place}/locked.",
        ),
        (
            "locked",
            "cannot create files in the folder {place}/locked: it has no write access to {place}/locked.",
        ),
        ("open/lake/t", ""),
    ],
)
def test_a_new_table_in_a_folder_without_write_access_is_refused_before_spark_starts(
    place: Path, table: str, message: str
) -> None:
    for name in ("locked", "open"):
        (place / name).mkdir(mode=0o777)
    (place / "open").chmod(0o777)
    (place / "locked").chmod(0o555)
    source = SourceSpec(path=str(place / "rows.csv"), format="csv")
    (place / "rows.csv").write_text("id,n\n1,1\n")
    request = UpsertRequest(
        base_path=str(place / table),
        table_name="t",
        record_key=("id",),
        source=replace(source, options={"header": "true"}),
    )

    def body() -> None:
        check_write(replace(request, dry_run=True))
        if not message:
            check_write(request)
            return
        with pytest.raises(StoragePermissionError) as refusal:
            check_write(request)
        assert message.format(place=place) in refusal.value.message

    as_unprivileged_user(body)
