"""The catalog sync on small tables, with a catalog in memory."""

import json
from dataclasses import replace

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
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage.stores.memory import MemoryStorage
from support.catalogs.memory_catalog import MemoryCatalog
from support.small_tables import SmallTable


def schema(**columns: str) -> str:
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in columns.items()]
    return json.dumps({"type": "record", "name": "r", "fields": fields})


SCHEMA = schema(id="long", city="string", amount="int")
ALL = "create_table", "add_partitions", "update_table"


@pytest.fixture
def table(request: pytest.FixtureRequest) -> SmallTable:
    return SmallTable(MemoryStorage(request.node.name), TableVersion.V9)


@pytest.fixture
def catalog() -> MemoryCatalog:
    return MemoryCatalog()


def commit(table: SmallTable, *partitions: str, columns: str = SCHEMA) -> None:
    table.commit(*(FileGroupId(path, f"{path}-0") for path in partitions), schema=columns)


def sync(table: SmallTable, catalog: MemoryCatalog, *, preview: bool = False, **options: str) -> JobResult:
    named = {f"hoodie.datasource.hive_sync.{key}": value for key, value in options.items()}
    request = SyncCatalogRequest(base_path="/t", preview=preview, options=named)
    return sync_catalog(request, storage=table.storage, catalog=catalog)


def state(catalog: MemoryCatalog, name: str = "trips") -> CatalogState:
    return catalog.read("default", name)


def report(result: JobResult) -> CatalogReport:
    assert isinstance(result.report, CatalogReport)
    return result.report


def test_the_first_sync_creates_the_table_and_the_second_changes_nothing(
    table: SmallTable, catalog: MemoryCatalog
) -> None:
    commit(table, "oslo", "rome")
    first = sync(table, catalog)
    assert first.outcome is Outcome.COMPLETED
    assert [each.values for each in state(catalog).partitions] == [("oslo",), ("rome",)]
    assert tuple(catalog.changes) == ALL
    assert report(first).tables[0].created
    assert report(first).tables[0].partitions_added == 2
    second = sync(table, catalog)
    assert second.outcome is Outcome.NOTHING_TO_DO
    assert second.reason == "the catalog is up to date"
    assert tuple(catalog.changes) == ALL


def test_the_sync_adds_new_columns_and_partitions_of_a_commit(
    table: SmallTable, catalog: MemoryCatalog
) -> None:
    commit(table, "oslo")
    sync(table, catalog)
    catalog.changes.clear()
    commit(table, "lima", columns=schema(id="long", city="string", amount="long", note="string"))
    changed = report(sync(table, catalog)).tables[0]
    assert catalog.changes == ["add_partitions", "update_table, cascade"]
    assert changed.columns_added == ("note string",)
    assert changed.columns_changed == ("amount int → bigint",)
    assert changed.partitions_added == 1


def test_a_partition_whose_files_are_all_replaced_is_dropped(
    table: SmallTable, catalog: MemoryCatalog
) -> None:
    commit(table, "oslo", "rome")
    sync(table, catalog)
    table.commit(replaces={"rome": ("rome-0",)}, schema=SCHEMA)
    changed = report(sync(table, catalog)).tables[0]
    assert changed.partitions_dropped == 1
    assert [each.values for each in state(catalog).partitions] == [("oslo",)]


def test_a_preview_changes_nothing(table: SmallTable, catalog: MemoryCatalog) -> None:
    commit(table, "oslo")
    result = sync(table, catalog, preview=True)
    assert result.outcome is Outcome.PLANNED
    assert report(result).tables[0].partitions_added == 1
    assert catalog.changes == []


def test_a_table_without_commits_is_not_synced(table: SmallTable, catalog: MemoryCatalog) -> None:
    result = sync(table, catalog)
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert result.reason == "the table has no completed write"
    assert catalog.changes == []


def test_a_foreign_table_is_refused_before_any_change(table: SmallTable, catalog: MemoryCatalog) -> None:
    commit(table, "oslo")
    sync(table, catalog)
    own = catalog.tables["default", "trips"]
    catalog.tables["default", "trips"] = replace(own, location="s3://lake/other")
    catalog.changes.clear()
    commit(table, "rome")
    with pytest.raises(InvalidRequestError, match=r"has the location s3://lake/other"):
        sync(table, catalog)
    assert catalog.changes == []


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_a_sync_that_failed_is_completed_by_the_next_one(
    table: SmallTable, catalog: MemoryCatalog, fails_at: int
) -> None:
    commit(table, "oslo", "rome")
    catalog.fails_at = fails_at
    with pytest.raises(CatalogError):
        sync(table, catalog)
    # Hudi's own sync skips all commits up to this time, so the time must not be stored before the partitions.
    found = state(catalog).table
    assert found is None or "last_commit_time_sync" not in found.properties
    catalog.fails_at = 0
    sync(table, catalog)
    assert [each.values for each in state(catalog).partitions] == [("oslo",), ("rome",)]
    assert sync(table, catalog).outcome is Outcome.NOTHING_TO_DO


def test_a_partition_outside_of_the_table_stays_with_a_warning(
    table: SmallTable, catalog: MemoryCatalog
) -> None:
    commit(table, "oslo")
    sync(table, catalog)
    found = state(catalog).partitions[0]
    foreign = replace(found, values=("elsewhere",), location="s3://lake/elsewhere")
    catalog.partitions["default", "trips"][foreign.values] = foreign
    result = sync(table, catalog)
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert "Partition elsewhere of default.trips stays in the catalog" in result.warnings[0]


def test_the_result_document_can_be_read_back(table: SmallTable, catalog: MemoryCatalog) -> None:
    commit(table, "oslo")
    result = sync(table, catalog)
    assert read_result(result.to_json()) == result
    assert "1 partition added" in result.summary()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "jdbc"}, "mode=jdbc is not supported"),
        ({"use_jdbc": "true"}, "use_jdbc=true is not supported"),
        ({"create_managed_table": "true"}, "create_managed_table=true is not supported"),
        ({"metastore.uris": "metastore:9083"}, "'metastore:9083' is not of the form thrift://host:port"),
        ({"tabel": "x"}, "Unknown option hoodie.datasource.hive_sync.tabel"),
        ({"partition_extractor_class": "com.example.Own"}, "Own is not supported"),
        ({"table_properties": "a"}, "the line 'a' is not of the form key=value"),
    ],
)
def test_the_error_about_a_wrong_option_names_option_or_value(
    table: SmallTable, catalog: MemoryCatalog, options: dict[str, str], message: str
) -> None:
    commit(table, "oslo")
    with pytest.raises(InvalidRequestError, match=message):
        sync(table, catalog, **options)
