"""Types of columns in Hive's syntax and in Spark's JSON."""

import json

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from hudi_table_services.planning.catalog.column_types import (
    are_equal_types,
    can_replace,
    hive_type,
    spark_schema_json,
)
from support.catalogs.catalog_cases import SCHEMA

HIVE_TYPES: list[tuple[DataType, str]] = [
    (BOOLEAN, "boolean"),
    (INT, "int"),
    (LONG, "bigint"),
    (FLOAT, "float"),
    (DOUBLE, "double"),
    (STRING, "string"),
    (BYTES, "binary"),
    (DATE, "date"),
    (TIMESTAMP, "timestamp"),
    (TIMESTAMP_NTZ, "timestamp"),
    (DecimalType(10, 2), "decimal(10,2)"),
    (ArrayType(ArrayType(LONG)), "array<array<bigint>>"),
    (MapType(DecimalType(5, 0)), "map<string,decimal(5,0)>"),
    (StructType((Field("A", INT), Field("b", MapType(STRING)))), "struct<a:int,b:map<string,string>>"),
]


@pytest.mark.parametrize(("data_type", "expected"), HIVE_TYPES)
def test_every_type_has_a_hive_type(data_type: DataType, expected: str) -> None:
    assert hive_type(data_type, supports_timestamp=True) == expected


@pytest.mark.parametrize("data_type", [TIMESTAMP, TIMESTAMP_NTZ])
def test_timestamps_become_numbers_if_the_catalog_has_no_timestamps(data_type: DataType) -> None:
    assert hive_type(ArrayType(data_type), supports_timestamp=False) == "array<bigint>"


def test_the_spark_schema_has_the_partition_columns_last_and_keeps_case() -> None:
    fields = json.loads(spark_schema_json(SCHEMA, ("day", "city")))["fields"]
    assert [field["name"] for field in fields] == [
        *("Id", "amount", "seen_at", "tags", "counts", "inner"),
        *("day", "city"),
    ]
    assert fields[0] == {"name": "Id", "type": "long", "nullable": False, "metadata": {}}
    assert fields[-1]["metadata"] == {"comment": "where it happened"}
    assert fields[5]["type"]["fields"][0]["name"] == "A"
    assert fields[4]["type"] == {
        "type": "map",
        "keyType": "string",
        "valueType": "integer",
        "valueContainsNull": True,
    }


def test_blanks_case_and_quotes_do_not_distinguish_types() -> None:
    assert are_equal_types("STRUCT< `a` : INT, b : ARRAY< STRING> >", "struct<a:int,b:array<string>>")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int", "bigint"),
        ("int", "string"),
        ("bigint", "double"),
        ("float", "double"),
        ("bigint", "timestamp"),
        ("decimal(5,2)", "decimal(10,2)"),
        ("decimal(5,2)", "decimal(6,3)"),
        ("struct<a:int>", "struct<a:bigint,b:string>"),
        ("struct<a:int,b:string>", "struct<b:string>"),
        ("array<struct<a:int>>", "array<struct<a:int,b:int>>"),
        ("map<string,int>", "map<string,bigint>"),
    ],
)
def test_a_column_may_become_wider(old: str, new: str) -> None:
    assert can_replace(old, new)
    assert can_replace(old, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("string", "int"),
        ("bigint", "int"),
        ("date", "timestamp"),
        ("decimal(10,2)", "decimal(5,2)"),
        ("decimal(5,2)", "decimal(5,3)"),
        ("struct<a:string>", "struct<a:int>"),
        ("array<int>", "map<string,int>"),
        ("array<string>", "array<int>"),
        ("struct<a:int>", "string"),
    ],
)
def test_a_column_may_not_become_narrower(old: str, new: str) -> None:
    assert not can_replace(old, new)


def test_a_string_that_is_no_type_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="is not a Hive type"):
        can_replace("array<int", "array<bigint>")
