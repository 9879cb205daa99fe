"""Reports are the same whether a job lists the metadata table or the folders. Searches for damage read the folders."""

from pathlib import Path

import pytest

from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.contract.config_check import NEVER, CheckConfigRequest
from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.errors import UnhealthyTableError
from hudi_table_services.jobs.check_config import check_table_config
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE, disable_metadata_table, read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.recent_writes import recent_writes
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.fixed_clock import FixedClock
from support.listing.counting_storage import CountingStorage
from support.listing.listed_tables import listed_table
from support.metadata_table.whole_metadata_golden import VERSIONS, whole_table

EACH_VERSION = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"v{version.value}")
OFF = {"hoodie.metadata.enable": "false"}


def golden(version: TableVersion, folder: Path) -> Storage:
    table = whole_table(version, "copy_on_write", LocalStorage(str(folder)))
    table.put_data_files()
    return table.storage


def health(storage: Storage, **options: str) -> HealthReport:
    request = HealthRequest(base_path=storage.base_path, options=options)
    report = table_health(request, storage=storage, clock=FixedClock()).report_as(HealthReport)
    assert report is not None
    return report


@EACH_VERSION
def test_health_is_the_same_from_metadata_table_and_folders(version: TableVersion, tmp_path: Path) -> None:
    storage = golden(version, tmp_path)
    counting = CountingStorage(storage)
    assert health(counting) == health(storage, **OFF)
    assert counting.below(f"{METADATA_TABLE}/files")


@EACH_VERSION
def test_health_finds_a_lost_file_that_the_metadata_table_lists(
    version: TableVersion, tmp_path: Path
) -> None:
    storage = golden(version, tmp_path)
    lost = load_snapshot(storage).all_slices[0].base_file_path
    assert lost is not None
    storage.delete(lost)
    with pytest.raises(UnhealthyTableError, match="missing_files") as failure:
        health(storage)
    report = failure.value.evidence
    assert isinstance(report, HealthReport)
    assert lost in str(report.missing_examples)


@EACH_VERSION
def test_the_history_of_writes_is_the_same_from_metadata_table_and_folders(
    version: TableVersion, tmp_path: Path
) -> None:
    storage = golden(version, tmp_path)

    def history() -> object:
        config = read_table_config(storage)
        store = TimelineStore(storage, config, FixedClock())
        snapshot = load_snapshot(storage, config=config)
        return recent_writes(storage, store, snapshot, latest=100)

    from_metadata_table = history()
    disable_metadata_table(storage, read_table_config(storage), FixedClock())
    assert history() == from_metadata_table


@pytest.mark.parametrize(("options", "reads_it"), [({}, True), (OFF, False)])
def test_a_check_of_settings_lists_partitions_from_the_metadata_table_unless_it_is_off(
    options: dict[str, str], reads_it: bool
) -> None:
    made = listed_table(TableVersion.V9, partitions=12, files_each=1)
    storage = CountingStorage(made.storage)
    chosen = {"hoodie.clustering.plan.strategy.partition.selected": "year=1999/n=0000", **options}
    request = CheckConfigRequest(base_path=made.storage.base_path, options=chosen, fail_on=NEVER)
    check_table_config(request, storage=storage)
    assert bool(storage.below(f"{METADATA_TABLE}/files")) is reads_it
    assert bool(storage.below(made.partitions[0])) is not reads_it


def test_a_planner_with_the_metadata_table_off_lists_folders() -> None:
    made = listed_table(TableVersion.V9, partitions=12, files_each=2)
    storage = CountingStorage(made.storage)
    request = ScheduleClusteringRequest(base_path=made.storage.base_path, options=OFF, preview=True)
    schedule_clustering(request, storage=storage)
    assert storage.below(METADATA_TABLE) == 0
    assert storage.below(made.partitions[0]) == 1
