"""Which secondary indexes this project updates. It refuses all others, and its error names the index."""

from dataclasses import replace
from typing import Any

import pytest

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.model.metadata_table import IndexDefinition, SecondaryIndex
from hudi_table_services.model.schema import (
    INT,
    STRING,
    DecimalType,
    Field,
    PrimitiveType,
    StructType,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.secondary_indexes import (
    INDEXED_TYPES,
    require_indexable,
    require_same_texts,
    secondary_indexes,
)

NAME = "secondary_index_city"
DEFINITION = IndexDefinition(
    name=NAME,
    index_type="secondary_index",
    function="identity",
    source_fields=("city",),
    options={},
    version="V2",
)
INDEX = SecondaryIndex(name=NAME, column="city", is_grouped_by_value=True)
PARTITIONS = ("files", "record_index", NAME)


@pytest.mark.parametrize(
    ("version", "defined", "is_grouped_by_value"),
    [
        (TableVersion.V9, "V2", True),
        (TableVersion.V9, "V1", False),
        (TableVersion.V9, None, False),
        (TableVersion.V8, "V1", False),
        (TableVersion.V8, None, False),
    ],
)
def test_the_version_of_an_index_determines_its_file_groups(
    version: TableVersion, defined: str | None, is_grouped_by_value: bool
) -> None:
    definitions = {NAME: replace(DEFINITION, version=defined)}
    (found,) = secondary_indexes(PARTITIONS, definitions, version)
    assert found == replace(INDEX, is_grouped_by_value=is_grouped_by_value)


def test_a_secondary_index_beside_a_partitioned_record_index_is_refused() -> None:
    records = replace(DEFINITION, name="record_index", options={"isPartitioned": "true"})
    with pytest.raises(UnsupportedTableError, match="partitioned record_index"):
        secondary_indexes(PARTITIONS, {NAME: DEFINITION, "record_index": records}, TableVersion.V9)


def test_definitions_without_a_partition_are_ignored() -> None:
    assert secondary_indexes(("files",), {NAME: DEFINITION}, TableVersion.V9) == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"index_type": "bloom_filters"}, "the type 'bloom_filters'"),
        ({"source_fields": ("a", "b")}, "2 columns"),
        ({"source_fields": ()}, "0 columns"),
        ({"version": "V3"}, "the version 'V3'"),
    ],
)
def test_unknown_definitions_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedTableError, match=f"{NAME} has {message}") as refused:
        secondary_indexes(PARTITIONS, {NAME: replace(DEFINITION, **changes)}, TableVersion.V9)
    assert f"--drop {NAME}" in refused.value.hint


def test_version_2_of_an_index_is_unknown_in_table_version_8() -> None:
    with pytest.raises(UnsupportedTableError, match="the version 'V2' in a table of version 8"):
        secondary_indexes(PARTITIONS, {NAME: DEFINITION}, TableVersion.V8)


def test_an_index_needs_a_definition_and_a_record_index() -> None:
    with pytest.raises(CorruptTableError, match=f"{NAME}, but the table has no definition"):
        secondary_indexes(PARTITIONS, {}, TableVersion.V9)
    with pytest.raises(UnsupportedTableError, match=f"{NAME}, but no record_index"):
        secondary_indexes(("files", NAME), {NAME: DEFINITION}, TableVersion.V9)


@pytest.mark.parametrize("name", sorted(INDEXED_TYPES))
def test_columns_of_these_types_are_indexable(name: str) -> None:
    require_indexable([INDEX], StructType((Field("city", PrimitiveType(name)),)))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (StructType((Field("city", PrimitiveType("bytes")),)), "has the type bytes"),
        (StructType((Field("city", PrimitiveType("timestamp_ntz")),)), "has the type timestamp_ntz"),
        (StructType((Field("city", DecimalType(9, 2)),)), "has the type decimal"),
        (StructType((Field("town", STRING),)), "does not exist"),
    ],
)
def test_other_columns_are_refused(schema: StructType, message: str) -> None:
    with pytest.raises(UnsupportedTableError, match=f"'city' of the index {NAME} {message}"):
        require_indexable([INDEX], schema)


def test_members_of_structs_are_indexable() -> None:
    index = replace(INDEX, column="place.city")
    require_indexable([index], StructType((Field("place", StructType((Field("city", STRING),))),)))


def test_a_change_of_the_type_is_refused_if_the_strings_in_the_index_change() -> None:
    def schema(name: str) -> StructType:
        return StructType((Field("city", PrimitiveType(name)), Field("other", INT)))

    require_same_texts([INDEX], schema("string"), schema("string"))
    require_same_texts([INDEX], schema("int"), schema("long"))
    require_same_texts([INDEX], StructType(()), schema("string"))
    with pytest.raises(UnsupportedTableError, match="from date to string"):
        require_same_texts([INDEX], schema("date"), schema("string"))
