"""The folder of staged rows: which files a job deletes at its end and at its start, and which files it keeps."""

from datetime import timedelta
from pathlib import Path

import pytest

from hudi_table_services.commits.staging_area import StagingArea
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from support.fixed_clock import FixedClock

PARENT = ".hoodie/.aux/staging"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return LocalStorage(str(tmp_path / "table"))


def area(
    storage: Storage, owner: str = "", *, days: float = 0, leaves_no_folder: bool = False
) -> StagingArea:
    clock = FixedClock(SystemClock().now() + timedelta(days=days))
    return StagingArea(storage, PARENT, clock, owner=owner, leaves_no_folder=leaves_no_folder)


def abandon(storage: Storage, owner: str) -> str:
    """Stage a row as a job that is killed before it removes its folder."""
    path = f"{area(storage, owner).__enter__().folder}/rows.arrow"
    storage.create(path, b"1")
    return path


def test_a_refused_first_write_leaves_no_files(storage: Storage, tmp_path: Path) -> None:
    with area(storage, "me", leaves_no_folder=True) as staging:
        storage.create(f"{staging.folder}/rows.arrow", b"1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("earlier", ["", ".hoodie", ".hoodie/.aux", PARENT])
def test_a_refused_write_keeps_empty_folders_that_existed_before(storage: Storage, earlier: str) -> None:
    storage.make_folder(earlier)
    with area(storage, "me", leaves_no_folder=True) as staging:
        storage.create(f"{staging.folder}/rows.arrow", b"1")
    base = Path(storage.base_path)
    found = {"", *(str(each.relative_to(base)) for each in base.rglob("*"))}
    assert found == {earlier[:end] for end in (0, 7, 12, len(PARENT)) if end <= len(earlier)}


@pytest.mark.parametrize(
    "name", ["hoodie.properties", "hoodie.properties.backup", "20260101000000000.commit"]
)
def test_the_files_of_a_table_that_another_writer_created_are_kept(storage: Storage, name: str) -> None:
    with area(storage, leaves_no_folder=True) as staging:
        storage.create(f"{staging.folder}/rows.arrow", b"1")
        storage.create(f".hoodie/{name}", b"1")
    assert [stored.path for stored in storage.list_files()] == [f".hoodie/{name}"]


def test_a_retry_deletes_the_staged_rows_of_its_killed_attempt_immediately(storage: Storage) -> None:
    abandon(storage, "killed")
    others = abandon(storage, "another attempt")
    with area(storage, "killed"):
        assert [stored.path for stored in storage.list_files()] == [others]


def test_staged_rows_of_other_requests_are_deleted_after_a_day(storage: Storage) -> None:
    path = abandon(storage, "another attempt")
    with area(storage, "me", days=0.9):
        assert storage.exists(path)
    with area(storage, "me", days=1.1):
        assert not storage.exists(path)


def test_a_dry_run_deletes_no_staged_rows_of_its_request(storage: Storage) -> None:
    path = abandon(storage, "me")
    with area(storage):
        assert storage.exists(path)
