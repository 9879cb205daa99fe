"""The sync with a real Hive Metastore, alone and on a table that real Hudi also syncs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_table_services.contract.catalog.catalog_sync import CatalogReport, SyncCatalogRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import CatalogError, InvalidRequestError
from hudi_table_services.jobs.catalog import sync_catalog
from hudi_table_services.model.catalog.catalog_table import (
    CatalogState,
)
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.catalog.catalog_options import resolve_catalog_options
from hudi_table_services.storage.catalogs.hive_metastore import HiveMetastore
from hudi_table_services.storage.stores.local import LocalStorage
from judges.hudi_judge import HudiJudge
from readers.servers import Metastore, Sync, free_port
from support.small_tables import SmallTable


def schema(**columns: str) -> str:
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in columns.items()]
    return json.dumps({"type": "record", "name": "r", "fields": fields})


SCHEMA = schema(id="long", city="string", amount="int")
WIDER = schema(id="long", city="string", amount="long", note="string")


def groups(*paths: str) -> list[FileGroupId]:
    return [FileGroupId(path, f"{path}-0") for path in paths]


def client_of(metastore: Metastore) -> HiveMetastore:
    request = SyncCatalogRequest(base_path="/t", metastore_uris=metastore.uri)
    return HiveMetastore.open(resolve_catalog_options(request).catalog)


def state(metastore: Metastore, database: str, table: str) -> CatalogState:
    client = client_of(metastore)
    try:
        return client.read(database, table)
    finally:
        client.close()


def report(result: JobResult) -> CatalogReport:
    assert isinstance(result.report, CatalogReport)
    return result.report


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9])
def test_columns_and_partitions_follow_the_table(
    metastore: Metastore, sync: Sync, tmp_path: Path, version: TableVersion
) -> None:
    base_path, database = tmp_path / "with blank", f"follow{version}"
    table = SmallTable(LocalStorage(str(base_path)), version)
    odd = "city=a%2Fb c'd"
    table.commit(*groups("oslo", odd), schema=SCHEMA)
    assert sync(base_path, database=database, preview=True).outcome is Outcome.PLANNED
    assert not state(metastore, database, "trips").has_database
    assert sync(base_path, database=database).outcome is Outcome.COMPLETED
    first = state(metastore, database, "trips")
    assert [each.values for each in first.partitions] == [("a%2Fb c'd",), ("oslo",)]
    assert first.partitions[0].location == f"file:{base_path}/{odd}"
    assert sync(base_path, database=database).outcome is Outcome.NOTHING_TO_DO

    table.commit(*groups("lima"), schema=WIDER)
    changed = report(sync(base_path, database=database)).tables[0]
    assert changed.columns_added == ("note string",)
    assert changed.columns_changed == ("amount int → bigint",)
    assert sync(base_path, database=database).outcome is Outcome.NOTHING_TO_DO

    table.commit(replaces={"oslo": ("oslo-0",), odd: (f"{odd}-0",)}, schema=WIDER)
    assert report(sync(base_path, database=database)).tables[0].partitions_dropped == 2
    assert [each.values for each in state(metastore, database, "trips").partitions] == [("lima",)]
    assert sync(base_path, database=database).outcome is Outcome.NOTHING_TO_DO
    assert (base_path / "oslo").exists()


def test_many_partitions_are_sent_in_batches(metastore: Metastore, sync: Sync, tmp_path: Path) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    table.commit(*groups(*(f"p{number:03}" for number in range(120))), schema=SCHEMA)
    options = {"batch_num": "50"}
    assert report(sync(tmp_path / "t", options, database="batches")).tables[0].partitions_added == 120
    assert len(state(metastore, "batches", "trips").partitions) == 120
    assert sync(tmp_path / "t", options, database="batches").outcome is Outcome.NOTHING_TO_DO


def test_a_moved_partition_is_moved_back_and_foreign_properties_stay(
    metastore: Metastore, sync: Sync, tmp_path: Path
) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    table.commit(*groups("oslo"), schema=SCHEMA)
    sync(tmp_path / "t", database="moved")
    client = client_of(metastore)
    found = client.read("moved", "trips")
    assert found.table is not None
    elsewhere = replace(found.partitions[0], location=f"file:{tmp_path}/t/old")
    client.move_partitions(found.table, [elsewhere])
    client.update_table(
        replace(found.table, properties={**found.table.properties, "team": "a"}), cascades=False
    )
    assert report(sync(tmp_path / "t", database="moved")).tables[0].partitions_moved == 1
    table.commit(*groups("rome"), schema=SCHEMA)
    sync(tmp_path / "t", database="moved")
    after = client.read("moved", "trips")
    client.close()
    assert after.table is not None
    assert after.table.properties["team"] == "a"
    assert after.partitions[0].location == f"file://{tmp_path}/t/oslo"


def test_a_table_of_another_program_is_not_changed(metastore: Metastore, sync: Sync, tmp_path: Path) -> None:
    for name in ("one", "two"):
        table = SmallTable(LocalStorage(str(tmp_path / name)), TableVersion.V9)
        table.commit(*groups("oslo"), schema=SCHEMA)
    sync(tmp_path / "one", database="foreign")
    before = state(metastore, "foreign", "trips")
    with pytest.raises(InvalidRequestError, match=r"already has foreign\.trips, but it has the location"):
        sync(tmp_path / "two", database="foreign")
    assert state(metastore, "foreign", "trips") == before


def test_an_unreachable_metastore_is_an_error_that_names_the_address(tmp_path: Path) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    table.commit(*groups("oslo"), schema=SCHEMA)
    uri = f"thrift://127.0.0.1:{free_port()}"
    with pytest.raises(CatalogError, match=uri):
        sync_catalog(SyncCatalogRequest(base_path=str(tmp_path / "t"), metastore_uris=uri))


def test_the_first_metastore_that_answers_is_used(metastore: Metastore, tmp_path: Path) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    table.commit(*groups("oslo"), schema=SCHEMA)
    uris = f"thrift://127.0.0.1:{free_port()},{metastore.uri}"
    request = SyncCatalogRequest(base_path=str(tmp_path / "t"), metastore_uris=uris, database="second")
    assert sync_catalog(request).outcome is Outcome.COMPLETED


ROWS = pa.table(
    {
        "Id": pa.array([1, 2], pa.int64()),
        "city": ["oslo", "rome"],
        "ts": pa.array([1, 2], pa.int64()),
        "amount": pa.array([1, 2], pa.decimal128(10, 2)),
        "seen_at": pa.array([0, 1], pa.timestamp("us", "UTC")),
        "day": pa.array([1, 2], pa.date32()),
        "tags": [["a"], None],
        "inner": [{"A": 1, "b": [{"c": 2}]}] * 2,
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
        "flag": [True, False],
    }
)


def hudi_options(metastore: Metastore, version: int, table_type: str) -> Mapping[str, str]:
    return {
        "hoodie.table.name": "Trips",
        "hoodie.datasource.write.recordkey.field": "Id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.mode": "hms",
        "hoodie.datasource.hive_sync.metastore.uris": metastore.uri,
        "hoodie.datasource.hive_sync.database": f"hudi{version}{table_type[:4]}".lower(),
    }


@pytest.mark.parametrize(("version", "table_type"), [(9, "COPY_ON_WRITE"), (6, "MERGE_ON_READ")])
def test_after_a_sync_by_hudi_our_sync_has_nothing_to_do(
    metastore: Metastore, sync: Sync, hudi: HudiJudge, tmp_path: Path, version: int, table_type: str
) -> None:
    options = hudi_options(metastore, version, table_type)
    database = options["hoodie.datasource.hive_sync.database"]
    hudi.write(tmp_path / "t", ROWS, options, mode="overwrite")
    synced = sync(tmp_path / "t", database=database)
    assert report(synced).tables
    assert synced.outcome is Outcome.NOTHING_TO_DO, synced.sections()


def test_hudi_syncs_a_table_that_this_project_registered(
    metastore: Metastore, sync: Sync, hudi: HudiJudge, tmp_path: Path
) -> None:
    options = dict(hudi_options(metastore, 9, "COPY_ON_WRITE"))
    options["hoodie.datasource.hive_sync.database"] = "ours"
    options["hoodie.datasource.hive_sync.support_timestamp"] = "true"
    switch = "hoodie.datasource.hive_sync.enable"
    hudi.write(tmp_path / "t", ROWS, {**options, switch: "false"}, mode="overwrite")
    assert sync(tmp_path / "t", database="ours").outcome is Outcome.COMPLETED
    lima = ROWS.slice(0, 1).set_column(1, "city", pa.array(["lima"]))
    hudi.write(tmp_path / "t", lima, options)
    after = state(metastore, "ours", "trips")
    assert [each.values for each in after.partitions] == [("lima",), ("oslo",), ("rome",)]
    assert sync(tmp_path / "t", database="ours").outcome is Outcome.NOTHING_TO_DO
