"""The operator of the catalog sync, with a small server that speaks the protocol of a Hive Metastore."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.catalog import HudiCatalogSyncOperator
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import TaskInstance, context
from support.catalogs.small_metastore import SmallMetastore, running_metastore
from support.small_tables import SmallTable

COLUMNS = '{"type":"record","name":"r","fields":[{"name":"id","type":"long"}]}'


@pytest.fixture
def metastore() -> Iterator[SmallMetastore]:
    with running_metastore() as running:
        yield running


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    made = SmallTable(LocalStorage(str(tmp_path / "table")), TableVersion.V9)
    made.commit(FileGroupId("oslo", "f1"), schema=COLUMNS)
    return made


def sync(table: SmallTable, uris: str, **arguments: Any) -> dict[str, Any]:
    task = HudiCatalogSyncOperator(
        task_id="sync", base_path=table.storage.base_path, database="lake", metastore_uris=uris, **arguments
    )
    answer = task.execute(context(ti=TaskInstance()))
    assert json.loads(json.dumps(answer)) == answer
    return answer


def test_the_task_syncs_the_table_and_then_succeeds_without_a_change(
    table: SmallTable, metastore: SmallMetastore
) -> None:
    answer = sync(table, metastore.uri)
    assert answer["outcome"] == "completed"
    assert answer["report"]["tables"][0]["partitions_added"] == 1
    assert list(metastore.partitions) == ["city=oslo"]
    assert sync(table, metastore.uri)["outcome"] == "nothing_to_do"
    with pytest.raises(AirflowSkipException, match="the catalog is up to date"):
        sync(table, metastore.uri, on_nothing="skip")


def test_a_preview_changes_nothing(table: SmallTable, metastore: SmallMetastore) -> None:
    answer = sync(table, metastore.uri, preview=True)
    assert answer["outcome"] == "planned"
    assert metastore.table is None


def test_a_table_of_another_program_fails_without_a_retry(
    table: SmallTable, metastore: SmallMetastore, tmp_path: Path
) -> None:
    other = SmallTable(LocalStorage(str(tmp_path / "other")), TableVersion.V9)
    other.commit(FileGroupId("rome", "f1"), schema=COLUMNS)
    sync(other, metastore.uri)
    with pytest.raises(HudiTaskRefusedError, match="already has lake.trips, but it has the location"):
        sync(table, metastore.uri)


def test_a_task_is_retried_if_the_metastore_does_not_answer(table: SmallTable) -> None:
    with pytest.raises(HudiTaskError, match="No Hive Metastore answers"):
        sync(table, "thrift://127.0.0.1:9")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"catalog": "unity"}, "catalog='unity' must be 'hms' or 'glue'"),
        ({"metastore_uris": "metastore"}, "not of the form thrift://host:port"),
        ({"hudi_options": {"hoodie.datasource.hive_sync.mode": "jdbc"}}, "jdbc"),
        ({"hudi_options": {"hoodie.datasource.hive_sync.tabel": "t"}}, "Unknown option"),
        ({"run_on": "laptop"}, "run_on='laptop' must be"),
    ],
)
def test_wrong_arguments_fail_when_the_dag_is_parsed(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HudiCatalogSyncOperator(task_id="sync", base_path="/t", **arguments)
