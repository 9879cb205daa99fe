"""Metadata tables of merge-on-read tables: services keep the list of files correct, and a job builds it again."""

from datetime import datetime, timedelta, timezone

import pytest

from hudi_table_services.contract.cleaning import CleanReport, CleanRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.table_files import Source, list_table
from support.fixed_clock import FixedClock
from support.metadata_table.whole_metadata_golden import VERSIONS as GOLDEN_VERSIONS
from support.metadata_table.whole_metadata_golden import WholeTable, whole_table

VERSIONS = pytest.mark.parametrize("version", GOLDEN_VERSIONS, ids=lambda v: v.name)


def later(days: int) -> FixedClock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(days=days), timedelta(milliseconds=1))


def a_golden_table(version: TableVersion) -> WholeTable:
    table = whole_table(version, "merge_on_read")
    table.put_data_files()
    return table


def listed(table: WholeTable) -> dict[str, set[str]]:
    """Data files by partition, according to the metadata table."""
    found = list_table(table.storage, table.config, table.timeline, SystemClock())
    assert found.source is Source.METADATA_TABLE, found.refusal
    return {path: {stored.name for stored in files} for path, files in found.files.items() if files}


def stored(table: WholeTable) -> dict[str, set[str]]:
    found = {
        path: {each.name for each in files if not each.name.startswith(".hoodie_partition")}
        for path, files in list_partitions(table.storage).items()
    }
    return {path: names for path, names in found.items() if names}


@VERSIONS
def test_a_clean_removes_log_files_from_the_metadata_table(version: TableVersion) -> None:
    table = a_golden_table(version)
    assert listed(table) == stored(table)
    request = CleanRequest(base_path="/t", file_versions_retained=1)
    result = clean(request, storage=table.storage, clock=later(1))
    assert isinstance(result.report, CleanReport)
    deleted = result.report.file_count
    assert deleted > 0
    assert any(
        ".log." in name
        for name in set().union(*a_golden_names(version)) - set().union(*stored(table).values())
    )
    assert listed(table) == stored(table)


def a_golden_names(version: TableVersion) -> list[set[str]]:
    return [set(sizes) for sizes in whole_table(version, "merge_on_read").files.values()]


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=lambda v: v.name)
def test_a_rollback_removes_log_files_from_the_metadata_table(version: TableVersion) -> None:
    table = a_golden_table(version)
    newest = table.timeline.completed_writes[-1]
    before = stored(table)
    request = RollbackRequest(base_path="/t", instants=(newest.requested_time,))
    rollback(request, storage=table.storage, clock=later(1))
    assert stored(table) != before
    assert listed(table) == stored(table)


@VERSIONS
def test_a_metadata_table_can_be_dropped_and_built_again(version: TableVersion) -> None:
    table = a_golden_table(version)
    drop = RebuildMetadataTableRequest(base_path="/t", drop=("all",))
    rebuild_metadata_table(drop, storage=table.storage, clock=later(1))
    assert table.config.metadata_partitions == ()
    request = RebuildMetadataTableRequest(base_path="/t", partitions=("files",))
    rebuild_metadata_table(request, storage=table.storage, clock=later(1))
    assert listed(table) == stored(table)
