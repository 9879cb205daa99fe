"""Repair of orphans: limits and backups of the deletion, other jobs during the deletion, and crashes."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from repaired_tables import VERSIONS, A, add_orphans, repair, report

from hudi_table_services.contract.recovery import RepairOrphansRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import CorruptTableError, InvalidRequestError, StorageError
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config, update_properties
from support.faulty_storage import FaultyStorage, crashes_everywhere
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import a_table


def test_more_orphans_than_allowed_are_refused() -> None:
    table = a_table()
    orphans = add_orphans(table)
    with pytest.raises(
        InvalidRequestError,
        match="The table contains 4 orphans, but the request allows the deletion of at most 3 files",
    ):
        repair(table, execute=True, max_files=3)
    assert all(table.storage.exists(path) for path in orphans)
    assert repair(table, max_files=3).outcome is Outcome.PLANNED


def test_orphans_are_copied_before_their_deletion(tmp_path: Path) -> None:
    table = a_table()
    orphans = add_orphans(table)
    result = repair(table, execute=True, backup_path=str(tmp_path / "copies"))
    assert report(result).backup_path == str(tmp_path / "copies")
    assert {path: (tmp_path / "copies" / path).read_bytes() for path in orphans} == dict.fromkeys(
        orphans, b"PAR1"
    )
    assert not any(table.storage.exists(path) for path in orphans)


class ShortCopies(FaultyStorage):
    """A storage that reports one byte less for each file."""

    def size(self, path: str) -> int:
        return super().size(path) - 1


def test_an_incomplete_copy_prevents_every_deletion() -> None:
    table = a_table()
    orphans = add_orphans(table)
    with pytest.raises(StorageError, match="has 3 bytes instead of 4"):
        repair(table, execute=True, backup_path="/b", backup=ShortCopies(MemoryStorage(uuid4().hex)))
    assert all(table.storage.exists(path) for path in orphans)


def test_a_backup_inside_the_table_is_refused(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "t"))
    SmallTable(storage)
    with pytest.raises(InvalidRequestError, match="inside the table"):
        repair_orphan_files(
            RepairOrphansRequest(
                base_path=str(tmp_path / "t"), execute=True, backup_path=str(tmp_path / "t" / "copies")
            )
        )


class ActsAfterLock(FaultyStorage):
    """A storage on which another job acts directly after the repair has taken the lock."""

    after_lock: Any = None

    def create(self, path: str, data: bytes) -> None:
        super().create(path, data)
        if path == ".hoodie/lock" and self.after_lock is not None:
            self.after_lock, act = None, self.after_lock
            act()


def test_a_file_whose_instant_appears_before_the_deletion_is_kept() -> None:
    table = a_table()
    table.commit(A)
    pending = table.begin()
    table.timeline_store.remove(pending)
    path = table.add_file("a", base_file_name("x", pending.requested_time))
    storage = ActsAfterLock(table.storage)
    storage.after_lock = lambda: table.timeline_store.request(Action.COMMIT, b"", pending.requested_time)
    result = repair(table, storage=storage, execute=True)
    assert (report(result).spared, report(result).deleted_count) == ((path,), 0)
    assert table.storage.exists(path)


def test_a_missing_metadata_table_is_refused_or_switched_off_before_the_files_are_deleted() -> None:
    table = a_table()
    add_orphans(table)
    update_properties(table.storage, {"hoodie.table.metadata.partitions": "files"}, table.clock)
    assert repair(table).outcome is Outcome.PLANNED
    with pytest.raises(CorruptTableError, match="metadata table"):
        repair(table, execute=True)
    repair(table, execute=True, options={"hoodie.metadata.enable": "false"})
    assert read_table_config(table.storage).metadata_partitions == ()


@VERSIONS
def test_after_a_crash_at_any_change_the_next_run_completes_the_repair(version: TableVersion) -> None:
    tables: list[tuple[SmallTable, dict[str, str], set[str]]] = []

    def start() -> Storage:
        table = a_table(version)
        orphans = add_orphans(table)
        tables.append((table, orphans, {f.path for f in table.storage.list_files()} - set(orphans)))
        return table.storage

    attempts = crashes_everywhere(lambda s: repair(tables[-1][0], storage=s, execute=True), start)
    for attempt, left in enumerate(attempts, start=1):  # noqa: B007 - the last number is asserted below
        table, orphans, sound = tables[-1]
        assert sound <= {f.path for f in left.list_files()}
        left.delete(".hoodie/lock")  # simulates that the lock has expired
        repair(table, execute=True)
        assert not any(left.exists(path) for path in orphans)
        assert sound <= {f.path for f in left.list_files()}
    assert attempt >= 6
