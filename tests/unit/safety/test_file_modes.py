"""Only the owner and the group can change the files of a table, even if the process has no umask."""

import os
import stat
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hudi_table_services import cli
from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.services.savepoints import CREATE_SAVEPOINT
from hudi_table_services.storage.locks.heartbeat import Heartbeat
from hudi_table_services.storage.locks.lock import table_lock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.local import LocalStorage
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

A = FileGroupId("a/b", "f1")


@pytest.fixture(autouse=True)
def _no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def writable_by_all(folder: Path) -> list[str]:
    return [str(p.relative_to(folder)) for p in folder.rglob("*") if p.stat().st_mode & stat.S_IWOTH]


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def test_no_file_of_a_table_is_writable_by_all(tmp_path: Path, version: TableVersion) -> None:
    storage = LocalStorage(str(tmp_path / "tables/t"))
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=1))
    table = SmallTable(storage, version, clock)
    for _ in range(6):
        table.commit(A)
    options = {"hoodie.clean.commits.retained": "1"}
    base = {"base_path": storage.root}
    clean(CleanRequest(**base, commits_retained=1, options={"hoodie.airflow.clean.floor.hours": "0"}))
    archived = archive(ArchiveRequest(**base, min_commits=2, max_commits=3, options=options))
    assert archived.report is not None
    assert archived.report.archived_commits
    result = tmp_path / "results/savepoint.json"
    assert cli.main(CREATE_SAVEPOINT, [f"--base-path={storage.root}", f"--result-path={result}"]) == 0
    pending = table.begin()
    MarkerStore(storage, pending.requested_time).mark("a/b/new.parquet", MarkerKind.CREATE)
    with (
        storage.open_writer("a/c/new.parquet") as file,
        Heartbeat(storage, pending.requested_time, owner="test"),
        table_lock(storage, LockOptions(), clock),
    ):
        file.write(b"PAR1")
        assert (tmp_path / "tables/t/.hoodie/lock").exists()
        assert writable_by_all(tmp_path) == []


def test_the_umask_restricts_modes_and_only_the_owner_can_read_a_secret(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "t"))
    storage.write("plain/file", b"")
    storage.write_secret("secret", b"")
    os.umask(0o077)
    storage.write("private/file", b"")
    modes = {p.name: oct(p.stat().st_mode & 0o777) for p in (tmp_path / "t").rglob("*") if p.name != "file"}
    assert modes == {"plain": "0o775", "secret": "0o600", "private": "0o700"}
    assert oct((tmp_path / "t/plain/file").stat().st_mode & 0o777) == "0o664"
    assert oct((tmp_path / "t/private/file").stat().st_mode & 0o777) == "0o600"
