"""hudi-rs reads merge-on-read tables of real Hudi (`tests/golden`) after services of this project. Needs no Spark."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from judges import hudi_rs
from support.log_golden import ARCHIVES
from support.with_logs.logged_tables import LoggedTable, golden_logged_table

CASES = [(version, name) for version in ARCHIVES for name in ("updates", "compacted_logs")]
TABLES = pytest.mark.parametrize(("version", "name"), CASES, ids=str)


def on_disk(version: TableVersion, name: str, folder: Path) -> LoggedTable:
    golden = golden_logged_table(version, name)
    for stored in golden.storage.list_files():
        target = folder / stored.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(golden.storage.read(stored.path))
    return LoggedTable.existing(LocalStorage(str(folder)), version, golden.clock)


def rows(folder: Path) -> list[dict[str, Any]]:
    found: pa.Table = hudi_rs.read_snapshot(folder)
    return sorted(found.to_pylist(), key=repr)


def without_newest(table: LoggedTable, folder: Path, count: int) -> list[dict[str, Any]]:
    """The rows without the newest writes: hudi-rs ignores files whose instants are not on the timeline."""
    shutil.copytree(table.storage.base_path, folder)
    copy = LoggedTable.existing(LocalStorage(str(folder)), table.version, table.clock)
    for instant in copy.timeline_store.load().completed_writes[-count:]:
        copy.timeline_store.remove_completed(instant)
    return rows(folder)


@TABLES
@pytest.mark.parametrize("count", [1, 2])
def test_rolled_back_rows_are_gone(version: TableVersion, name: str, count: int, tmp_path: Path) -> None:
    table = on_disk(version, name, tmp_path / "t")
    expected = without_newest(table, tmp_path / "expected", count)
    newest = table.timeline_store.load().completed_writes[-count:]
    before = rows(tmp_path / "t")
    request = RollbackRequest(base_path=str(tmp_path / "t"), instants=tuple(i.requested_time for i in newest))
    rollback(request, storage=table.storage, clock=table.clock)
    assert rows(tmp_path / "t") == expected != before


@TABLES
def test_restored_rows_are_those_of_the_savepoint(version: TableVersion, name: str, tmp_path: Path) -> None:
    table = on_disk(version, name, tmp_path / "t")
    expected = without_newest(table, tmp_path / "expected", 3)
    saved = table.timeline_store.load().completed_writes[-4].requested_time
    create_savepoint(
        CreateSavepointRequest(base_path="/t", instant=saved), storage=table.storage, clock=table.clock
    )
    restore(RestoreRequest(base_path="/t", savepoint=saved), storage=table.storage, clock=table.clock)
    assert rows(tmp_path / "t") == expected


@TABLES
def test_archival_changes_no_row(version: TableVersion, name: str, tmp_path: Path) -> None:
    table = on_disk(version, name, tmp_path / "t")
    before = rows(tmp_path / "t")
    options = {"hoodie.clean.commits.retained": "1"}
    request = ArchiveRequest(base_path="/t", min_commits=2, max_commits=3, options=options)
    archive(request, storage=table.storage, clock=table.clock)
    assert len(table.timeline_store.load().completed_writes) == 5
    assert rows(tmp_path / "t") == before
