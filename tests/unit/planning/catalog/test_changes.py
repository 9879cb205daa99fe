"""The changes that make a catalog equal to the wanted table."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.catalog.catalog_settings import CatalogSettings
from hudi_table_services.model.catalog.catalog_table import (
    CatalogColumn,
    CatalogPartition,
    CatalogPlan,
    CatalogState,
    CatalogTable,
)
from hudi_table_services.model.schema import StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.planning.catalog.changes import plan_catalog_sync
from hudi_table_services.planning.catalog.wanted_table import SyncedCommit, TableVariant, wanted_table
from support.catalogs.catalog_cases import SCHEMA, changed, settings

SETTINGS = settings()
COMMIT = SyncedCommit(requested_time="20260102030405006", completion_time=None)


def wanted(schema: StructType = SCHEMA, commit: str = "1", of: CatalogSettings = SETTINGS) -> CatalogTable:
    config = TableConfig({"hoodie.table.name": "trips", "hoodie.table.partition.fields": "city"})
    return wanted_table(
        TableVariant(name="trips"), config, schema, replace(COMMIT, requested_time=commit), of
    )


def partition(value: str, root: str = "s3://lake/trips") -> CatalogPartition:
    return CatalogPartition(values=(value,), location=f"{root}/{value}")


def plan(
    table: CatalogTable,
    state: CatalogState,
    *partitions: CatalogPartition,
    of: CatalogSettings = SETTINGS,
) -> CatalogPlan:
    return plan_catalog_sync(table, partitions, state, of)


def existing(table: CatalogTable, *partitions: CatalogPartition) -> CatalogState:
    return CatalogState(has_database=True, table=table, partitions=partitions)


def test_an_empty_catalog_gets_database_table_and_partitions() -> None:
    made = plan(wanted(), CatalogState(has_database=False), partition("a"))
    assert made.creates_database
    assert made.creates_table
    assert made.added_partitions == (partition("a"),)


def test_a_missing_database_may_be_an_error() -> None:
    with pytest.raises(InvalidRequestError, match="no database 'default'"):
        plan(
            wanted(),
            CatalogState(has_database=False),
            of=changed(SETTINGS, creates_database=False),
        )


def test_an_equal_catalog_needs_no_change() -> None:
    stored = replace(
        wanted(),
        location="s3a://lake/trips/",
        properties={**wanted().properties, "transient_lastDdlTime": "1", "owner": "me"},
        columns=wanted().columns[::-1],
    )
    assert plan(wanted(), existing(stored, partition("a", "s3a://lake/trips")), partition("a")).is_empty


def test_a_table_of_hudis_sync_keeps_its_timestamps_and_the_text_of_its_spark_schema() -> None:
    def in_hudis_form(name: str, value: str) -> str:
        return value.replace('"array",', '"array", ') if ".part." in name else value

    stored = replace(
        wanted(),
        columns=wanted(of=changed(SETTINGS, supports_timestamp=False)).columns,
        properties={name: in_hudis_form(name, value) for name, value in wanted().properties.items()},
    )
    assert stored.properties != wanted().properties
    assert plan(wanted(), existing(stored)).is_empty
    asked = changed(SETTINGS, supports_timestamp=True)
    assert plan(wanted(of=asked), existing(stored), of=asked).changed_columns == (
        "seen_at bigint → timestamp",
    )


def test_a_new_commit_changes_only_its_property() -> None:
    made = plan(wanted(commit="2"), existing(wanted()))
    assert made.updates_table
    assert made.changed_properties == ("last_commit_time_sync",)
    assert not made.cascades
    assert plan(wanted(commit="2"), existing(wanted()), of=changed(SETTINGS, only_if_changed=True)).is_empty


def test_new_and_wider_columns_cascade_to_partitions() -> None:
    before = replace(
        wanted(),
        columns=tuple(
            replace(column, type="int") if column.name == "id" else column
            for column in wanted().columns
            if column.name != "tags"
        ),
    )
    made = plan(wanted(), existing(before, partition("a")), partition("a"))
    assert made.added_columns == ("tags array<string>",)
    assert made.changed_columns == ("id int → bigint",)
    assert made.cascades
    assert not made.changes_partitions


def test_a_column_that_the_table_no_longer_has_is_removed() -> None:
    before = replace(wanted(), columns=(*wanted().columns, CatalogColumn(name="old", type="int")))
    assert plan(wanted(), existing(before)).removed_columns == ("old int",)


def test_the_error_names_an_incompatible_column() -> None:
    columns = tuple(
        replace(column, type="string") if column.name == "id" else column for column in wanted().columns
    )
    with pytest.raises(InvalidRequestError, match=r"Column 'id' of default\.trips is string .* and bigint"):
        plan(wanted(), existing(replace(wanted(), columns=columns)))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"location": "s3://lake/other"}, "has the location s3://lake/other"),
        ({"table_type": "VIRTUAL_VIEW"}, "is a VIRTUAL_VIEW"),
        (
            {"input_format": "org.apache.hadoop.mapred.TextInputFormat", "properties": {}},
            "is not a Hudi table: its input format is org.apache.hadoop.mapred.TextInputFormat",
        ),
    ],
)
def test_a_table_of_another_program_is_refused(fields: Mapping[str, object], reason: str) -> None:
    foreign = replace(wanted(), **fields)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match=reason):
        plan(wanted(), existing(foreign))


def test_a_table_that_spark_created_is_accepted() -> None:
    spark = replace(
        wanted(),
        table_type="MANAGED_TABLE",
        properties={"spark.sql.sources.provider": "hudi", "spark.sql.sources.schema": "{}"},
    )
    made = plan(wanted(), existing(spark))
    assert made.table.table_type == "MANAGED_TABLE"
    assert "EXTERNAL" not in made.table.properties
    assert "spark.sql.sources.schema" not in made.table.properties


def test_other_partition_columns_are_refused() -> None:
    other = (CatalogColumn(name="country", type="string"),)
    with pytest.raises(InvalidRequestError, match="partitioned by country string in the catalog"):
        plan(wanted(), existing(replace(wanted(), partition_columns=other)))
    with pytest.raises(InvalidRequestError, match="partitioned by no column in the catalog"):
        plan(wanted(), existing(replace(wanted(), partition_columns=())))


def test_the_type_of_a_formatted_time_may_differ() -> None:
    stored = replace(wanted(), partition_columns=(CatalogColumn(name="city", type="bigint"),))
    made = plan_catalog_sync(
        wanted(), (), existing(stored), SETTINGS, free_partition_types=frozenset({"city"})
    )
    assert made.is_empty
    assert made.table.partition_columns[0].type == "bigint"


def test_partitions_are_added_moved_and_dropped() -> None:
    made = plan(
        wanted(),
        existing(
            wanted(),
            partition("a"),
            partition("b", "s3://lake/old"),
            partition("c"),
            partition("d", "s3://x"),
        ),
        partition("a"),
        partition("b"),
        partition("e"),
    )
    assert made.added_partitions == (partition("e"),)
    assert made.moved_partitions == (partition("b"),)
    assert made.dropped_partitions == (partition("c"),)
    assert made.foreign_partitions == (partition("d", "s3://x"),)


def test_comments_of_the_catalog_stay_unless_they_are_synced() -> None:
    commented = replace(
        wanted(), columns=tuple(replace(column, comment="kept") for column in wanted().columns)
    )
    assert plan(wanted(), existing(commented)).is_empty
    synced = changed(SETTINGS, syncs_comments=True)
    assert plan(wanted(of=synced), existing(commented), of=synced).updates_table


_VALUES = st.sets(st.sampled_from("abcdef"))


@given(
    before=_VALUES,
    after=_VALUES,
    known=st.sets(st.sampled_from(SCHEMA.names)),
    commits=st.tuples(st.sampled_from("12"), st.sampled_from("12")),
    only_if_changed=st.booleans(),
)
def test_after_a_plan_was_carried_out_a_new_plan_is_empty(
    before: set[str], after: set[str], known: set[str], commits: tuple[str, str], only_if_changed: bool
) -> None:
    of = changed(SETTINGS, only_if_changed=only_if_changed)
    older = StructType(tuple(field for field in SCHEMA.fields if field.name in known or field.name == "city"))
    state = existing(wanted(older, commits[0]), *map(partition, sorted(before)))
    goal = tuple(map(partition, sorted(after)))
    first = plan(wanted(commit=commits[1]), state, *goal, of=of)
    kept = [each for each in state.partitions if each not in first.dropped_partitions]
    table = first.table if first.updates_table else state.table
    assert table is not None
    done = existing(table, *sorted((*kept, *first.added_partitions)))
    assert done.partitions == goal
    assert plan(wanted(commit=commits[1]), done, *goal, of=of).is_empty
