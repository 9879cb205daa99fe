"""Orphans that a metadata table lists are not deleted: readers that use the metadata table would expect the files."""

from datetime import datetime, timedelta, timezone
from uuid import uuid4

import pytest

from hudi_table_services.contract.recovery import RepairOrphansRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.table_store import read_table_config
from support.fixed_clock import FixedClock
from support.metadata_table.built_tables import build
from support.small_tables import SmallTable, base_file_name

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8, TableVersion.V9])
A = FileGroupId("a", "f1")


def a_table(version: TableVersion) -> tuple[SmallTable, str]:
    """A table with a file that a retried task left: no commit names the file, although its instant is completed."""
    table = SmallTable(MemoryStorage(uuid4().hex), version)
    commit = table.commit(A)
    return table, table.add_file("a", base_file_name("f1", commit.requested_time, token="9-9-9"))


def repair(table: SmallTable, **options: str) -> JobResult:
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(hours=48))
    request = RepairOrphansRequest(base_path="/t", execute=True, options=options)
    return repair_orphan_files(request, storage=table.storage, clock=clock)


@VERSIONS
def test_an_orphan_that_the_metadata_table_lists_is_kept(version: TableVersion) -> None:
    table, orphan = a_table(version)
    build(table.storage, "files")
    with pytest.raises(UnsupportedTableError, match=orphan.rpartition("/")[2]):
        repair(table)
    assert table.storage.exists(orphan)
    repair(table, **{"hoodie.metadata.enable": "false"})
    assert not table.storage.exists(orphan)
    assert read_table_config(table.storage).metadata_partitions == ()


@VERSIONS
def test_an_orphan_that_appeared_after_the_metadata_table_was_built_is_deleted(version: TableVersion) -> None:
    table, orphan = a_table(version)
    table.storage.delete(orphan)
    build(table.storage, "files")
    table.storage.write(orphan, b"PAR1")
    repair(table)
    assert not table.storage.exists(orphan)
    assert read_table_config(table.storage).metadata_partitions == ("files",)
