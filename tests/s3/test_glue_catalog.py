"""The sync to AWS Glue, against the Glue of moto, which also serves S3."""

import json
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import boto3
import pytest

from hudi_table_services.contract.catalog.catalog_sync import CatalogReport, SyncCatalogRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import CatalogError, InvalidRequestError
from hudi_table_services.jobs.catalog import sync_catalog
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.catalog.catalog_options import resolve_catalog_options
from hudi_table_services.storage.catalogs.glue import GlueCatalog
from hudi_table_services.storage.stores.factory import open_storage
from s3_server import S3
from support.small_tables import SmallTable


def schema(**columns: str) -> str:
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in columns.items()]
    return json.dumps({"type": "record", "name": "r", "fields": fields})


SCHEMA = schema(id="long", city="string", amount="int")
WIDER = schema(id="long", city="string", amount="long", note="string")


class Lake:
    """A table on S3, its database in Glue, and the sync of the two."""

    def __init__(self, s3: S3) -> None:
        self.s3, self.database, self.base_path = s3, f"lake_{uuid4().hex}", s3.new_table()
        self.table = SmallTable(open_storage(self.base_path, s3.options), TableVersion.V6)
        self.request = SyncCatalogRequest(
            base_path=self.base_path.replace("s3://", "s3a://"),
            catalog="glue",
            database=self.database,
            storage_options=s3.options,
            options={"hoodie.aws.glue.endpoint": s3.endpoint},
        )
        self.glue = boto3.client(
            "glue",
            endpoint_url=s3.endpoint,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="canary-secret",
        )

    def commit(self, *paths: str, columns: str = SCHEMA) -> None:
        self.table.commit(*(FileGroupId(path, f"{path}-0") for path in paths), schema=columns)

    def sync(self) -> JobResult:
        return sync_catalog(self.request)

    @property
    def stored(self) -> dict[str, object]:
        found: dict[str, object] = self.glue.get_table(DatabaseName=self.database, Name="trips")["Table"]
        return found

    def partitions(self) -> dict[str, dict[str, object]]:
        pages = self.glue.get_paginator("get_partitions").paginate(
            DatabaseName=self.database, TableName="trips"
        )
        return {each["Values"][0]: each["StorageDescriptor"] for page in pages for each in page["Partitions"]}


@pytest.fixture
def lake(moto: S3) -> Iterator[Lake]:
    made = Lake(moto)
    yield made
    made.glue.close()


def report(result: JobResult) -> CatalogReport:
    assert isinstance(result.report, CatalogReport)
    return result.report


def test_columns_and_partitions_follow_the_table(lake: Lake) -> None:
    lake.commit("oslo", "rome")
    assert lake.sync().outcome is Outcome.COMPLETED
    assert lake.partitions()["oslo"]["Location"] == f"{lake.base_path}/oslo"
    assert lake.stored["StorageDescriptor"]["Location"] == lake.base_path  # type: ignore[index]
    assert lake.stored["Parameters"]["hudi.metadata-listing-enabled"] == "FALSE"  # type: ignore[index]
    assert lake.sync().outcome is Outcome.NOTHING_TO_DO

    lake.commit("lima", columns=WIDER)
    changed = report(lake.sync()).tables[0]
    assert changed.columns_added == ("note string",)
    assert changed.columns_changed == ("amount int → bigint",)
    assert lake.sync().outcome is Outcome.NOTHING_TO_DO
    types = {
        value: {column["Name"]: column["Type"] for column in storage["Columns"]}  # type: ignore[attr-defined]
        for value, storage in lake.partitions().items()
    }
    assert {value: each["amount"] for value, each in types.items()} == dict.fromkeys(
        ("lima", "oslo", "rome"), "bigint"
    )

    lake.table.commit(replaces={"oslo": ("oslo-0",)}, schema=WIDER)
    assert report(lake.sync()).tables[0].partitions_dropped == 1
    assert sorted(lake.partitions()) == ["lima", "rome"]
    assert lake.sync().outcome is Outcome.NOTHING_TO_DO


@pytest.mark.thorough
def test_many_partitions_are_sent_in_batches(lake: Lake) -> None:
    paths = [f"p{number:03}" for number in range(130)]
    lake.commit(*paths)
    assert report(lake.sync()).tables[0].partitions_added == 130
    assert sorted(lake.partitions()) == paths
    lake.table.commit(replaces={path: (f"{path}-0",) for path in paths[:60]}, schema=SCHEMA)
    assert report(lake.sync()).tables[0].partitions_dropped == 60
    assert sorted(lake.partitions()) == paths[60:]


def test_a_table_of_another_program_is_not_changed(lake: Lake) -> None:
    lake.commit("oslo")
    storage = {"Columns": [], "Location": "s3://lake/other", "InputFormat": "x", "SerdeInfo": {}}
    lake.glue.create_database(DatabaseInput={"Name": lake.database})
    lake.glue.create_table(
        DatabaseName=lake.database,
        TableInput={"Name": "trips", "TableType": "EXTERNAL_TABLE", "StorageDescriptor": storage},
    )
    with pytest.raises(InvalidRequestError, match="has the location s3://lake/other"):
        lake.sync()


@pytest.mark.thorough
def test_fields_of_other_programs_stay(lake: Lake) -> None:
    lake.commit("oslo")
    lake.sync()
    kept = ("Name", "TableType", "Parameters", "PartitionKeys", "StorageDescriptor")
    table = {key: value for key, value in lake.stored.items() if key in kept}
    table["Description"] = "trips of the week"
    table["Parameters"] = {**table["Parameters"], "team": "a"}  # type: ignore[dict-item]
    lake.glue.update_table(DatabaseName=lake.database, TableInput=table)
    lake.commit("rome")
    lake.sync()
    assert lake.stored["Description"] == "trips of the week"
    assert lake.stored["Parameters"]["team"] == "a"  # type: ignore[index]


def test_a_moved_partition_is_moved_back(lake: Lake) -> None:
    lake.commit("oslo")
    lake.sync()
    catalog = GlueCatalog.open(resolve_catalog_options(lake.request).catalog, lake.s3.options)
    found = catalog.read(lake.database, "trips")
    assert found.table is not None
    catalog.move_partitions(
        found.table, [replace(found.partitions[0], location=f"{lake.base_path}/elsewhere")]
    )
    catalog.close()
    assert report(lake.sync()).tables[0].partitions_moved == 1
    assert lake.partitions()["oslo"]["Location"] == f"{lake.base_path}/oslo"


def test_a_missing_region_and_an_unreachable_address_are_errors(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.commit("oslo")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    closed = {"hoodie.aws.glue.endpoint": "http://127.0.0.1:9"}
    with pytest.raises(CatalogError, match="AWS Glue did not answer"):
        sync_catalog(replace(lake.request, options=closed))
    settings = replace(resolve_catalog_options(lake.request).catalog, glue_region="")
    with pytest.raises(CatalogError, match="You must specify a region"):
        GlueCatalog.open(settings, lake.s3.options)
