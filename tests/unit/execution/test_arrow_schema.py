"""Arrow schemas, and the conversion of rows to them."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.errors import InvalidDataError, InvalidRequestError
from hudi_table_services.execution.arrow_schema import (
    arrow_schema,
    check_list_elements,
    conform,
    schema_from_spark_json,
)
from hudi_table_services.model.schema import (
    BYTES,
    DATE,
    DOUBLE,
    INT,
    LONG,
    META_COLUMNS,
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


def a_target(*fields: Field) -> pa.Schema:
    return arrow_schema(StructType(fields), with_meta_fields=False)


def spark_field(name: str, spark_type: object, nullable: bool = True, **metadata: str) -> dict[str, object]:
    return {"name": name, "type": spark_type, "nullable": nullable, "metadata": metadata}


def test_every_spark_type_is_converted() -> None:
    names = ["byte", "short", "integer", "long", "string", "binary", "date", "timestamp", "timestamp_ntz"]
    fields = [spark_field(name, name) for name in [*names, "decimal(10,2)"]]
    schema = schema_from_spark_json({"type": "struct", "fields": fields})
    expected = [INT, INT, INT, LONG, STRING, BYTES, DATE, TIMESTAMP, TIMESTAMP_NTZ, DecimalType(10, 2)]
    assert [field.type for field in schema.fields] == expected


def test_nested_spark_types_keep_nullability_and_comments() -> None:
    struct = {"type": "struct", "fields": [spark_field("x", "long", False, comment="metres")]}
    array = {"type": "array", "elementType": struct, "containsNull": False}
    mapping = {"type": "map", "keyType": "string", "valueType": array, "valueContainsNull": True}
    schema = schema_from_spark_json({"type": "struct", "fields": [spark_field("m", mapping, False)]})
    inner = StructType((Field("x", LONG, False, "metres"),))
    assert schema == StructType((Field("m", MapType(ArrayType(inner, False), True), False),))


@pytest.mark.parametrize(
    "spark_type",
    [
        "void",
        "interval day to second",
        "variant",
        "string collate UNICODE_CI",
        {"type": "map", "keyType": "integer", "valueType": "long", "valueContainsNull": True},
        {"type": "udt", "class": "x"},
    ],
)
def test_a_spark_type_that_hudi_cannot_store_is_refused_with_the_path_of_the_column(
    spark_type: object,
) -> None:
    struct = {"type": "struct", "fields": [spark_field("inner", spark_type)]}
    with pytest.raises(InvalidRequestError, match=r"'outer\.inner'"):
        schema_from_spark_json({"type": "struct", "fields": [spark_field("outer", struct)]})


def test_meta_columns_in_the_rows_are_left_out() -> None:
    fields = [spark_field(name, "string") for name in [*META_COLUMNS, "id"]]
    assert schema_from_spark_json({"type": "struct", "fields": fields}).names == ("id",)


def test_base_files_begin_with_the_meta_columns() -> None:
    schema = arrow_schema(StructType((Field("id", STRING, False),)), with_meta_fields=True)
    assert schema.names == [*META_COLUMNS, "id"]
    assert [field.nullable for field in schema] == [True] * 5 + [False]


def test_the_parquet_schema_has_the_types_that_hudi_merges_correctly() -> None:
    target = a_target(
        Field("l", ArrayType(STRING)),
        Field("m", MapType(INT)),
        Field("d", DecimalType(10, 2)),
        Field("t", TIMESTAMP),
        Field("n", TIMESTAMP_NTZ),
    )
    sink = pa.BufferOutputStream()
    pq.write_table(target.empty_table(), sink)
    schema = pq.ParquetFile(sink.getvalue()).schema
    columns = {schema.column(i).path: schema.column(i) for i in range(len(schema.names))}
    assert list(columns) == ["l.list.element", "m.key_value.key", "m.key_value.value", "d", "t", "n"]
    assert (columns["d"].physical_type, columns["d"].length) == ("FIXED_LEN_BYTE_ARRAY", 5)
    assert "isAdjustedToUTC=true, timeUnit=microseconds" in str(columns["t"].logical_type)
    assert "isAdjustedToUTC=false, timeUnit=microseconds" in str(columns["n"].logical_type)


def test_columns_of_equal_type_are_not_copied() -> None:
    table = pa.table({"b": pa.array(["x", "y"]), "a": pa.array([1, 2])})
    made = conform(table, a_target(Field("a", LONG), Field("b", STRING)))
    for name in ("a", "b"):
        before, after = table.column(name).chunk(0).buffers(), made.column(name).chunk(0).buffers()
        assert [b and b.address for b in before] == [b and b.address for b in after]


def test_a_missing_column_is_filled_with_null_and_an_extra_column_is_dropped() -> None:
    made = conform(
        pa.table({"z": [1], "a": [2]}), a_target(Field("a", LONG), Field("new", ArrayType(STRING)))
    )
    assert made.to_pylist() == [{"a": 2, "new": None}]


NESTED_CASES: list[tuple[DataType, pa.DataType, list[object], list[object]]] = [
    (LONG, pa.int32(), [1, None], [1, None]),
    (DOUBLE, pa.int64(), [2**53 + 1, None], [float(2**53), None]),
    (STRING, pa.int32(), [-7, None], ["-7", None]),
    (STRING, pa.large_string(), ["a", None], ["a", None]),
    (STRING, pa.dictionary(pa.int32(), pa.string()), ["a", None], ["a", None]),
    (DecimalType(12, 2), pa.decimal128(10, 2), [Decimal("1.25"), None], [Decimal("1.25"), None]),
    (ArrayType(LONG), pa.list_(pa.field("array", pa.int32())), [[1, None], None, []], [[1, None], None, []]),
    (
        ArrayType(StructType((Field("x", LONG), Field("y", STRING)))),
        pa.list_(pa.field("item", pa.struct([("x", pa.int32())]))),
        [[{"x": 1}, None], None, []],
        [[{"x": 1, "y": None}, None], None, []],
    ),
    (
        MapType(ArrayType(LONG)),
        pa.map_(pa.string(), pa.list_(pa.int32())),
        [[("a", [1])], None, []],
        [[("a", [1])], None, []],
    ),
    (
        StructType((Field("b", LONG), Field("a", STRING))),
        pa.struct([("a", pa.string()), ("b", pa.int32())]),
        [{"a": "x", "b": 1}, None],
        [{"b": 1, "a": "x"}, None],
    ),
]


@pytest.mark.parametrize(("data_type", "arrow_type", "values", "expected"), NESTED_CASES)
@pytest.mark.parametrize("skipped", [0, 1])
def test_values_are_converted_to_wider_and_nested_types_in_whole_arrays_and_slices(
    data_type: DataType, arrow_type: pa.DataType, values: list[object], expected: list[object], skipped: int
) -> None:
    table = pa.table({"c": pa.array(values, arrow_type)}).slice(skipped)
    made = conform(table, a_target(Field("c", data_type)))
    made.validate(full=True)
    assert made.column("c").to_pylist() == expected[skipped:]


def test_timestamps_of_any_zone_become_the_same_instant_in_utc() -> None:
    moment = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
    table = pa.table({"t": pa.array([moment], pa.timestamp("us", tz="Asia/Kolkata"))})
    assert conform(table, a_target(Field("t", TIMESTAMP))).column("t").to_pylist() == [moment]


def test_an_error_about_nulls_in_a_required_column_names_column_and_number() -> None:
    with pytest.raises(InvalidDataError, match="'id' is not nullable, but is null in 2 rows"):
        conform(pa.table({"id": pa.array([None, "a", None])}), a_target(Field("id", STRING, False)))


def test_a_required_member_may_be_null_only_if_its_struct_is_null() -> None:
    target = a_target(Field("s", StructType((Field("x", LONG, False),))))
    narrow = pa.struct([("x", pa.int32())])
    made = conform(pa.table({"s": pa.array([None, {"x": 1}], narrow)}), target)
    assert made.column("s").to_pylist() == [None, {"x": 1}]
    with pytest.raises(InvalidDataError, match=r"'s\.x'"):
        conform(pa.table({"s": pa.array([None, {"x": None}], narrow)}), target)


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="'c'"):
        conform(pa.table({"c": pa.array([2**40])}), a_target(Field("c", INT)))


def test_types_without_a_conversion_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="cannot be converted to"):
        conform(pa.table({"c": pa.array([[1]])}), a_target(Field("c", INT)))


LIST = pa.list_(pa.int64())


@pytest.mark.parametrize(
    ("value", "arrow_type"),
    [
        ([1, None], LIST),
        ([[1], [2, None]], pa.list_(LIST)),
        ({"x": [None]}, pa.struct([("x", LIST)])),
        ([("k", [None])], pa.map_(pa.string(), LIST)),
    ],
    ids=["list", "list of lists", "struct", "map"],
)
def test_a_null_inside_a_list_is_refused_because_hudi_could_not_merge_the_file(
    value: object, arrow_type: pa.DataType
) -> None:
    with pytest.raises(InvalidDataError, match="null element"):
        check_list_elements(pa.table({"c": pa.array([value], arrow_type)}))


def test_null_lists_and_null_elements_of_rows_outside_the_slice_are_accepted() -> None:
    table = pa.table({"c": pa.array([[None], None, [1], []], pa.list_(pa.int64()))})
    check_list_elements(table.slice(1))


def test_a_required_column_must_exist() -> None:
    with pytest.raises(InvalidDataError, match="'id'"):
        conform(pa.table({"a": [1]}), a_target(Field("id", STRING, False)))
