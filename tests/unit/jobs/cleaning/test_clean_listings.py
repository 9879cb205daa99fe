"""A clean lists folders, because an error in the metadata table would make the clean delete files for good."""

from datetime import datetime, timezone

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.hudi_format.table_service_plans import encode_clean_plan
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CleanFile, CleanPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.table_store import METADATA_TABLE
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.fixed_clock import FixedClock
from support.listing.counting_storage import CountingStorage
from support.listing.listed_tables import ListedTable, listed_table
from support.metadata_table.small_metadata_tables import all_partitions, files, moment

OFF = {"hoodie.metadata.enable": "false"}
LATER = FixedClock(datetime(2026, 1, 2, tzinfo=timezone.utc))


@pytest.fixture
def table() -> ListedTable:
    return listed_table(TableVersion.V9, partitions=12, files_each=2, writes=0)


def request_clean_of_everything(table: ListedTable) -> None:
    paths = [each.base_file_path for each in load_snapshot(table.storage, metadata_enable=False).all_slices]
    planned = {
        partition: tuple(
            CleanFile(path=f"{table.storage.base_path}/{path}")
            for path in paths
            if path is not None and path.startswith(partition)
        )
        for partition in table.partitions
    }
    plan = CleanPlan(policy="KEEP_LATEST_COMMITS", files_to_delete=planned)
    store = TimelineStore(table.storage, table.table.config, LATER)
    store.request(Action.CLEAN, encode_clean_plan(plan))


def test_a_pending_clean_keeps_visible_files_that_are_missing_from_the_metadata_table(
    table: ListedTable,
) -> None:
    empty = [all_partitions(*table.partitions), *(files(path, {}) for path in table.partitions)]
    table.table.own(moment(6), Action.COMMIT, files=[table.table.base(moment(6), empty)])
    assert load_snapshot(table.storage).all_slices == ()
    before = load_snapshot(table.storage, metadata_enable=False).all_slices
    request_clean_of_everything(table)
    clean(CleanRequest(base_path=table.storage.uri, options=OFF), storage=table.storage, clock=LATER)
    snapshot = load_snapshot(table.storage, metadata_enable=False)
    assert snapshot.all_slices == before
    assert not [i for i in snapshot.timeline.pending if i.action is Action.CLEAN]


def test_a_preview_lists_the_folders_that_the_clean_lists(table: ListedTable) -> None:
    storage = CountingStorage(table.storage)
    request = CleanRequest(
        base_path=table.storage.uri,
        preview=True,
        options={**OFF, "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"},
    )
    clean(request, storage=storage, clock=LATER)
    assert storage.below(METADATA_TABLE) == 0
    assert storage.below(table.partitions[0]) == 1
