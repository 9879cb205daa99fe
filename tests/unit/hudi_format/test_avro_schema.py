"""Avro JSON of table schemas, compared with schemas in files of real Hudi (tests/golden/avro_schemas.json)."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_table_services.errors import InvalidRequestError, MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.avro_schema import from_avro_json, record_name, to_avro_json
from hudi_table_services.model.schema import (
    INT,
    LONG,
    PRIMITIVE_NAMES,
    STRING,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
)

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "avro_schemas.json").read_text(encoding="utf-8"))
TABLE_NAMES = {"nonnull": "t_sch_nonnull", "nullable": "t_sch_nullable", "sql": "sqlt"}


@st.composite
def decimals(draw: st.DrawFn) -> DecimalType:
    precision = draw(st.integers(1, 38))
    return DecimalType(precision, draw(st.integers(0, precision)))


def structs(types: st.SearchStrategy[DataType]) -> st.SearchStrategy[StructType]:
    names = st.lists(
        st.text("ab_1", min_size=1, max_size=4).map("c{}".format), min_size=1, max_size=3, unique=True
    )
    return names.flatmap(
        lambda chosen: st.tuples(
            *[st.builds(Field, st.just(n), types, st.booleans(), st.text(max_size=5)) for n in chosen]
        ).map(StructType)
    )


leaves = st.sampled_from(sorted(PRIMITIVE_NAMES)).map(PrimitiveType) | decimals()
types = st.recursive(
    leaves,
    lambda inner: (
        st.builds(ArrayType, inner, st.booleans()) | st.builds(MapType, inner, st.booleans()) | structs(inner)
    ),
    max_leaves=4,
)


@given(structs(types), st.booleans())
@settings(max_examples=50)
def test_a_schema_is_unchanged_after_writing_and_reading(schema: StructType, with_meta_fields: bool) -> None:
    text = to_avro_json(schema, "trips", with_meta_fields=with_meta_fields)
    assert from_avro_json(text) == schema


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_text_that_is_not_a_schema_is_malformed_or_unsupported(text: str) -> None:
    with pytest.raises((MalformedMetadataError, UnsupportedTableError)):
        from_avro_json(text)


def test_the_golden_schemas_are_present() -> None:
    assert len(GOLDEN["footers"]) == 5


@pytest.mark.parametrize("name", GOLDEN["footers"])
def test_the_footer_schema_equals_hudis_schema_character_by_character(name: str) -> None:
    text = GOLDEN["footers"][name]
    table_name = TABLE_NAMES[name.split()[1]]
    assert to_avro_json(from_avro_json(text), table_name, with_meta_fields=True) == text


def test_null_may_be_the_last_type_of_a_union_as_in_spark_sql() -> None:
    from_properties = from_avro_json(GOLDEN["create_schema"]["0.15.0 sql"])
    assert [field.nullable for field in from_properties.fields] == [True] * 6
    assert from_properties.field("st").type == StructType(
        (Field("x", INT), Field("y", ArrayType(DecimalType(4, 1), True)))
    )


def test_a_list_or_map_adds_no_level_to_the_names_of_records() -> None:
    inner = StructType((Field("x", INT),))
    schema = StructType((Field("ars", ArrayType(MapType(inner))),))
    items = json.loads(to_avro_json(schema, "t1", with_meta_fields=False))["fields"][0]["type"][1]["items"]
    record = items[1]["values"][1]
    assert (record["name"], record["namespace"]) == ("ars", "hoodie.t1.t1_record")


@pytest.mark.parametrize(
    ("precision", "size"), [(1, 1), (2, 1), (3, 2), (10, 5), (15, 7), (18, 8), (19, 9), (38, 16)]
)
def test_a_decimal_is_stored_in_the_fewest_bytes(precision: int, size: int) -> None:
    assert DecimalType(precision, 0).size_bytes == size


def test_characters_that_avro_forbids_in_table_names_are_replaced() -> None:
    assert record_name("9 trips-x") == "hoodie.____trips__x.____trips__x_record"


@pytest.mark.parametrize("name", ["a b", "1a", "a-b", "é", ""])
def test_a_column_name_that_avro_forbids_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequestError, match="not allowed"):
        to_avro_json(StructType((Field(name, LONG),)), "t", with_meta_fields=False)


def test_columns_that_differ_only_in_case_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="'a' and 'A'"):
        to_avro_json(StructType((Field("a", LONG), Field("A", STRING))), "t", with_meta_fields=False)


@pytest.mark.parametrize(
    "avro_type",
    [
        {"type": "long", "logicalType": "timestamp-millis"},
        {"type": "int", "logicalType": "time-millis"},
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        {"type": "fixed", "name": "f", "size": 8, "logicalType": "decimal", "precision": 10, "scale": 2},
        {"type": "fixed", "name": "f", "size": 8},
        {"type": "enum", "name": "e", "symbols": ["A"]},
        ["null", "int", "string"],
        "unknown",
    ],
)
def test_an_error_about_a_type_that_cannot_be_written_unchanged_names_the_column(avro_type: object) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "amount", "type": avro_type}]}
    with pytest.raises(UnsupportedTableError, match="'amount'"):
        from_avro_json(json.dumps(schema))


def test_a_named_type_may_be_defined_once_and_used_again() -> None:
    point = {"type": "record", "name": "point", "fields": [{"name": "x", "type": "int"}]}
    fields = [
        {"name": "a", "type": point},
        {"name": "b", "type": ["null", "n.point"]},
        {"name": "c", "type": "point"},
    ]
    schema = from_avro_json(json.dumps({"type": "record", "name": "r", "namespace": "n", "fields": fields}))
    assert schema.field("a").type == schema.field("b").type == schema.field("c").type
