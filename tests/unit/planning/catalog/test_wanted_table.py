"""The definition that a catalog's table should have."""

import json

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.catalog.catalog_settings import CatalogKind, CatalogSettings
from hudi_table_services.model.catalog.catalog_table import (
    CatalogTable,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.planning.catalog.wanted_table import (
    INPUT_FORMAT,
    REALTIME_INPUT_FORMAT,
    SyncedCommit,
    TableVariant,
    partition_rule,
    table_variants,
    wanted_partitions,
    wanted_table,
)
from support.catalogs.catalog_cases import SCHEMA, changed, settings

COMMIT = SyncedCommit(requested_time="20260102030405006", completion_time="20260102030405007")
CITY = {"hoodie.table.partition.fields": "city"}


def config(**properties: str) -> TableConfig:
    return TableConfig({"hoodie.table.name": "Trips", **properties})


def table(table_config: TableConfig, of: CatalogSettings) -> CatalogTable:
    return wanted_table(TableVariant(name="Trips"), table_config, SCHEMA, COMMIT, of)


def test_a_table_has_the_formats_and_properties_that_readers_expect() -> None:
    made = table(config(**CITY), settings())
    assert made.full_name == "default.trips"
    assert made.table_type == "EXTERNAL_TABLE"
    assert made.input_format == "org.apache.hudi.hadoop.HoodieParquetInputFormat"
    assert made.output_format == "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
    assert made.serde == "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
    assert made.serde_properties == {
        "path": "s3://lake/trips",
        "hoodie.query.as.ro.table": "false",
        "serialization.format": "1",
    }
    assert made.properties["EXTERNAL"] == "TRUE"
    assert made.properties["spark.sql.sources.provider"] == "hudi"
    assert made.properties["spark.sql.sources.schema.partCol.0"] == "city"
    assert made.properties["last_commit_time_sync"] == "20260102030405006"
    assert made.properties["last_commit_completion_time_sync"] == "20260102030405007"


def test_columns_are_in_lower_case_and_exclude_partition_columns() -> None:
    made = table(config(**CITY), settings())
    assert [column.name for column in made.columns[:6]] == [
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
        "id",
    ]
    assert "city" not in [column.name for column in made.columns]
    assert [(column.name, column.type) for column in made.partition_columns] == [("city", "string")]
    assert made.columns[-1].type == "struct<a:int,b:array<struct<c:bigint>>>"


def test_meta_columns_and_comments_are_options() -> None:
    made = table(config(), settings(omit_metadata_fields="true", sync_comment="true"))
    assert made.columns[0].name == "id"
    assert made.columns[1].comment == "where it happened"


def test_a_long_spark_schema_is_stored_in_parts() -> None:
    made = table(config(), settings(schema_string_length_thresh="100"))
    count = int(made.properties["spark.sql.sources.schema.numParts"])
    text = "".join(made.properties[f"spark.sql.sources.schema.part.{number}"] for number in range(count))
    assert count > 5
    assert json.loads(text)["fields"][5]["name"] == "Id"


def test_a_table_for_other_readers_than_spark_has_no_spark_properties() -> None:
    made = table(config(), settings(sync_as_datasource="false"))
    assert not [name for name in made.properties if name.startswith("spark.")]
    assert made.serde_properties == {"serialization.format": "1"}


def test_formatted_times_are_text_in_the_catalog() -> None:
    formatted = config(
        **{"hoodie.table.partition.fields": "seen_at", "hoodie.table.keygenerator.type": "TIMESTAMP"}
    )
    assert table(formatted, settings()).partition_columns[0].type == "string"
    custom = config(**{"hoodie.table.partition.fields": "city:SIMPLE,seen_at:TIMESTAMP"})
    assert [column.type for column in table(custom, settings()).partition_columns] == ["string", "string"]
    plain = config(**{"hoodie.table.partition.fields": "day"})
    assert table(plain, settings()).partition_columns[0].type == "date"


def test_a_partition_column_may_have_a_name_that_the_table_does_not_have() -> None:
    made = table(config(**CITY), settings(partition_fields="place"))
    assert [(column.name, column.type) for column in made.partition_columns] == [("place", "string")]
    assert "city" in [column.name for column in made.columns]


def test_a_struct_member_is_no_partition_column() -> None:
    nested = config(**{"hoodie.table.partition.fields": "inner.a"})
    with pytest.raises(InvalidRequestError, match=r"'inner\.a' is a member of a struct"):
        partition_rule(nested, settings())


def test_glue_gets_its_own_scheme_and_the_property_of_athena() -> None:
    glue = changed(settings("s3a://lake/trips"), kind=CatalogKind.GLUE, metadata_listing=True)
    made = table(config(), glue)
    assert made.location == "s3://lake/trips"
    assert made.properties["hudi.metadata-listing-enabled"] == "TRUE"


def test_a_merge_on_read_table_has_up_to_three_tables() -> None:
    merged = config(**{"hoodie.table.type": "MERGE_ON_READ"})

    def names(**options: str) -> list[tuple[str, bool, bool]]:
        return [
            (each.name, each.is_realtime, each.is_read_optimized)
            for each in table_variants(merged, settings(**options))
        ]

    assert names() == [("Trips_ro", False, True), ("Trips_rt", True, False), ("Trips", True, False)]
    assert names(skip_ro_suffix="true") == [("Trips", False, True), ("Trips_rt", True, False)]
    assert names(**{"table.strategy": "RO"}) == [("Trips", False, True)]
    assert names(**{"table.strategy": "rt"}) == [("Trips", True, False)]
    formats = [
        wanted_table(variant, merged, SCHEMA, COMMIT, settings()).input_format
        for variant in table_variants(merged, settings())
    ]
    assert formats == [INPUT_FORMAT, REALTIME_INPUT_FORMAT, REALTIME_INPUT_FORMAT]


def test_partitions_have_their_values_and_locations() -> None:
    rule = partition_rule(config(**CITY), settings())
    found = wanted_partitions(["b", "a"], rule, "s3://lake/trips")
    assert [(each.values, each.location) for each in found] == [
        (("a",), "s3://lake/trips/a"),
        (("b",), "s3://lake/trips/b"),
    ]
    assert wanted_partitions([""], partition_rule(config(), settings()), "s3://lake/trips") == ()


def test_two_paths_with_the_same_values_are_refused() -> None:
    rule = partition_rule(config(**CITY), settings())
    with pytest.raises(InvalidRequestError, match="'a-b' and 'a/b' both have the values a-b"):
        wanted_partitions(["a/b", "a-b"], rule, "s3://lake/trips")
