"""The client of a Hive Metastore, against a small server that speaks its Thrift protocol.

The server stores what it receives. tests/readers runs the same client against a real Hive Metastore.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from hudi_table_services.errors import CatalogError
from hudi_table_services.model.catalog.catalog_settings import CatalogSettings
from hudi_table_services.model.catalog.catalog_table import (
    CatalogColumn,
    CatalogPartition,
    CatalogTable,
)
from hudi_table_services.storage.catalogs.hive_metastore import HiveMetastore, partition_name
from support.catalogs.catalog_cases import changed, settings
from support.catalogs.small_metastore import SmallMetastore, running_metastore

TABLE = CatalogTable(
    database="lake",
    name="trips",
    columns=(CatalogColumn(name="id", type="bigint", comment="key"),),
    partition_columns=(CatalogColumn(name="city", type="string"),),
    location="s3://lake/trips",
    input_format="in",
    output_format="out",
    serde="serde",
    properties={"EXTERNAL": "TRUE"},
    serde_properties={"path": "s3://lake/trips"},
)


@pytest.fixture
def handler() -> Iterator[SmallMetastore]:
    with running_metastore() as server:
        yield server


@pytest.fixture
def server_settings(handler: SmallMetastore) -> CatalogSettings:
    return changed(settings(batch_num="2"), metastore_uris=(handler.uri,))


@pytest.fixture
def metastore(server_settings: CatalogSettings) -> Iterator[HiveMetastore]:
    client = HiveMetastore.open(server_settings)
    yield client
    client.close()


def partitions(*values: str) -> tuple[CatalogPartition, ...]:
    return tuple(CatalogPartition(values=(value,), location=f"s3://lake/trips/{value}") for value in values)


def test_a_table_is_read_as_it_was_created(metastore: HiveMetastore) -> None:
    assert not metastore.read("lake", "trips").has_database
    metastore.create_database("lake")
    metastore.create_database("lake")
    assert metastore.read("lake", "trips").table is None
    metastore.create_table(TABLE)
    found = metastore.read("lake", "trips")
    assert found.has_database
    assert found.table == TABLE
    assert found.partitions == ()


def test_partitions_are_sent_and_read_in_batches(metastore: HiveMetastore, handler: SmallMetastore) -> None:
    metastore.create_database("lake")
    metastore.create_table(TABLE)
    metastore.add_partitions(TABLE, partitions("c", "a", "b/=d"))
    assert metastore.read("lake", "trips").partitions == partitions("a", "b/=d", "c")
    metastore.move_partitions(TABLE, [replace(partitions("a")[0], location="s3://lake/trips/x")])
    assert metastore.read("lake", "trips").partitions[0].location == "s3://lake/trips/x"
    metastore.drop_partitions(TABLE, partitions("a", "b/=d", "c"))
    assert metastore.read("lake", "trips").partitions == ()
    assert [call for call in handler.calls if not call.startswith("get")] == [
        "add 2",
        "add 1",
        "drop 2",
        "drop 1",
    ]
    assert handler.calls[2:4] == ["get 2", "get 1"]


def test_a_change_keeps_what_the_sync_does_not_know(
    metastore: HiveMetastore, handler: SmallMetastore
) -> None:
    metastore.create_database("lake")
    metastore.create_table(TABLE)
    handler.table.owner, handler.table.retention, handler.table.sd.numBuckets = "ann", 7, 4
    wider = replace(TABLE, columns=(*TABLE.columns, CatalogColumn(name="note", type="string")))
    metastore.update_table(wider, cascades=True)
    assert metastore.read("lake", "trips").table == wider
    assert (handler.table.owner, handler.table.retention, handler.table.sd.numBuckets) == ("ann", 7, 4)
    assert handler.context.properties == {"CASCADE": "true"}


def test_a_refusal_of_the_metastore_is_an_error_with_its_reason(metastore: HiveMetastore) -> None:
    metastore.create_database("lake")
    metastore.create_table(TABLE)
    refused = replace(TABLE, columns=(CatalogColumn(name="id", type="refused"),))
    with pytest.raises(CatalogError, match=r"refused to change lake\.trips: .* types incompatible\."):
        metastore.update_table(refused, cascades=False)


def test_a_metastore_that_ends_is_a_retryable_error(
    metastore: HiveMetastore, handler: SmallMetastore
) -> None:
    handler.is_ended = True
    with pytest.raises(CatalogError, match="did not answer") as caught:
        metastore.read("lake", "trips")
    assert caught.value.retryable


def test_the_second_address_is_used_if_the_first_one_does_not_answer(
    server_settings: CatalogSettings,
) -> None:
    uris = ("thrift://127.0.0.1:9", *server_settings.metastore_uris)
    client = HiveMetastore.open(changed(server_settings, metastore_uris=uris))
    assert not client.read("lake", "trips").has_database
    client.close()
    with pytest.raises(CatalogError, match=r"No Hive Metastore answers: thrift://127\.0\.0\.1:9"):
        HiveMetastore.open(changed(server_settings, metastore_uris=uris[:1], names_metastore=True))


def test_the_error_names_the_option_if_no_metastore_answers_at_the_default_address(
    server_settings: CatalogSettings,
) -> None:
    assert settings(**{"metastore.uris": "thrift://m:1"}).names_metastore
    unnamed = changed(server_settings, metastore_uris=("thrift://127.0.0.1:9",))
    with pytest.raises(CatalogError, match="The request names no Hive Metastore") as unreachable:
        HiveMetastore.open(unnamed)
    assert "--metastore-uris" in unreachable.value.hint
    assert unreachable.value.retryable


def test_names_of_partitions_are_escaped_as_in_hive() -> None:
    assert partition_name(["a", "b:c"], ["x/y", "50% [z]"]) == "a=x%2Fy/b%3Ac=50%25 %5Bz%5D"
