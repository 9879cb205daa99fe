"""Repair of orphans: copies of data files in other folders than the original."""

from datetime import datetime, timedelta, timezone

import pytest
from repaired_tables import VERSIONS, A, B, reasons, repair, report

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.recovery.orphans import DISPLACED
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import a_table, state


@VERSIONS
def test_copies_in_other_folders_are_deleted_and_the_original_is_kept(version: TableVersion) -> None:
    table = a_table(version)
    name = base_file_name("f1", table.commit(A, B).requested_time)
    copies = {table.add_file("b", name), f"no/partition/{name}"}
    table.storage.write(f"no/partition/{name}", b"PAR1")
    table.storage.write(f"b/.f2_{newest_time(table)}.log.1_0-1-0", b"log")
    assert reasons(repair(table)) == dict.fromkeys(copies, DISPLACED)
    assert report(repair(table, hours_later=23, execute=True)).too_young == 2
    assert report(repair(table, execute=True)).deleted_count == 2
    assert not any(table.storage.exists(path) for path in copies)
    assert table.storage.exists(f"a/{name}")


@VERSIONS
@pytest.mark.parametrize("left", [None, b"", b"PAR1PAR1"], ids=["gone", "emptied", "longer"])
def test_a_displaced_file_is_kept_unless_the_original_has_the_same_size(
    version: TableVersion, left: bytes | None
) -> None:
    table = a_table(version)
    name = base_file_name("f1", table.commit(A, B).requested_time)
    moved = table.add_file("b", name)
    table.storage.delete(f"a/{name}")
    if left is not None:
        table.storage.write(f"a/{name}", left)
    assert repair(table, execute=True).outcome is Outcome.NOTHING_TO_DO
    assert table.storage.exists(moved)


@VERSIONS
def test_a_copy_of_a_file_of_an_archived_write_is_an_orphan_while_the_original_exists(
    version: TableVersion,
) -> None:
    table = a_table(version)
    name = base_file_name("f9", table.commit(FileGroupId("a", "f9")).requested_time)
    for _ in range(35):
        table.commit(A)
    later = FixedClock(datetime.now(timezone.utc) + timedelta(days=1))
    archive(ArchiveRequest(base_path="/t"), storage=table.storage, clock=later)
    copy = table.add_file("b", name)
    assert name.removesuffix(".parquet").rpartition("_")[2] not in {i.requested_time for i in state(table)[0]}
    assert reasons(repair(table)) == {copy: DISPLACED}
    table.storage.delete(f"a/{name}")
    assert reasons(repair(table)) == {}


def test_a_copy_in_a_savepoint_is_kept() -> None:
    table = a_table()
    copy = table.add_file("b", base_file_name("f1", table.commit(A).requested_time))
    assert set(reasons(repair(table))) == {copy}
    create_savepoint(CreateSavepointRequest(base_path="/t"), storage=table.storage, clock=table.clock)
    assert repair(table, execute=True).outcome is Outcome.NOTHING_TO_DO


def newest_time(table: SmallTable) -> str:
    return state(table)[0][-1].requested_time
