"""Metadata tables that tests damage, and what checks report about the damage."""

import pytest

from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config
from support.metadata_table.built_tables import build
from support.metadata_table.checked_tables import check_end
from support.metadata_table.maintained_tables import A, C, Write, access, compacting, indexes, ticking

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
WRITE = Write((A, C), "w3", 3, metadata=compacting())


def newest_file(storage: Storage, partition: str, *, is_log: bool) -> str:
    files = [
        f
        for f in storage.list_files(f"{METADATA_TABLE}/{partition}")
        if f.name != ".hoodie_partition_metadata"
    ]
    return max(f.path for f in files if f.name.startswith(".") is is_log)


def contents(storage: Storage) -> dict[str, bytes]:
    return {f.path: storage.read(f.path) for f in storage.list_files() if f.path != ".hoodie/lock"}


def opened(storage: Storage) -> MetadataTable:
    return open_metadata_table(storage, read_table_config(storage), ticking(9))


def own_pending(storage: Storage) -> tuple[Instant, ...]:
    return opened(storage).timeline.pending


def deep_report(storage: Storage, *, is_deep: bool = True) -> HealthReport:
    request = HealthRequest(base_path="/t", deep=is_deep)
    report = table_health(request, storage=storage, clock=ticking(3)).report_as(HealthReport)
    assert report is not None
    return report


def problem_of(storage: Storage, *, is_deep: bool = False) -> str:
    report = deep_report(storage, is_deep=is_deep)
    assert bool(report.measures["metadata_unusable"]) is bool(report.metadata_table_state.problem)
    return report.metadata_table_state.path


def cured(storage: Storage, version: TableVersion) -> None:
    for pending in access(storage, ticking(4)).load_timeline().pending:
        access(storage, ticking(4)).timeline_store.remove(pending)
    storage.delete(".hoodie/lock")
    build(storage, *indexes(version), clock=ticking(4))
    assert not problem_of(storage)
    Write((A, C), "w4", 4, metadata=compacting())(storage, ticking(5))
    check_end(storage, "after the cure")
