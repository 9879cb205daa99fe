"""Keys and partition paths, compared with those of real Hudi for the same values (tests/golden/keys.json)."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import InvalidDataError, InvalidRequestError
from hudi_table_services.execution.arrow_schema import arrow_type
from hudi_table_services.execution.writing.key_generation import KeyGenerator
from hudi_table_services.model.key_generator import KeyGeneratorConfig, KeyGeneratorType, PartitionField
from hudi_table_services.model.schema import (
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    PrimitiveType,
    StructType,
)
from hudi_table_services.planning.table.key_generator import key_generator_config

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "keys.json").read_text(encoding="utf-8"))
REFUSED_TYPES = {"float", "double", "binary"}
COLUMNS = {name: column for name, column in GOLDEN["columns"].items() if column["type"] not in REFUSED_TYPES}
DEFAULT = "__HIVE_DEFAULT_PARTITION__"


def a_type(name: str) -> DataType:
    if name.startswith("decimal"):
        precision, scale = name[8:-1].split(",")
        return DecimalType(int(precision), int(scale))
    return PrimitiveType({"byte": "int", "short": "int"}.get(name, name))


def a_value(type_name: str, value: object) -> object:
    if value is None:
        return None
    if type_name.startswith("decimal"):
        return Decimal(str(value)).quantize(Decimal(1).scaleb(-int(type_name[8:-1].split(",")[1])))
    if type_name == "date":
        return dt.date.fromisoformat(str(value))
    if type_name == "boolean":
        return value in ("true", True)
    if type_name == "timestamp_ntz" and isinstance(value, str):
        return (dt.datetime.fromisoformat(value) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    return int(str(value)) if type_name.startswith("timestamp") else value


def an_array(type_name: str, values: list[object]) -> pa.Array:
    target = arrow_type(a_type(type_name))
    made = [a_value(type_name, value) for value in values]
    return (
        pa.array(made, pa.int64()).cast(target) if pa.types.is_timestamp(target) else pa.array(made, target)
    )


def a_frame(rows: list[str], columns: dict[str, dict[str, object]]) -> tuple[pa.Table, StructType]:
    arrays = {"id": pa.array(rows)}
    fields = [Field("id", STRING)]
    for name, column in columns.items():
        arrays[name] = an_array(str(column["type"]), list(column["values"]))  # type: ignore[call-overload]
        fields.append(Field(name, a_type(str(column["type"]))))
    return pa.table(arrays), StructType(tuple(fields))


def a_generator(schema: StructType, key: str = "id", partition: str = "", **more: object) -> KeyGenerator:
    fields = tuple(PartitionField(name) for name in partition.split(",") if name)
    config = KeyGeneratorConfig(
        type=KeyGeneratorType.COMPLEX,
        record_key_fields=tuple(key.split(",")),
        partition_fields=fields,
        **more,  # type: ignore[arg-type]
    )
    return KeyGenerator(config, schema)


def test_the_golden_values_are_present() -> None:
    assert len(COLUMNS) == 12
    assert len(GOLDEN["cases"]) == 28


@pytest.mark.parametrize("name", COLUMNS)
def test_each_type_has_the_same_text_in_a_key_as_in_hudi(name: str) -> None:
    table, schema = a_frame(GOLDEN["rows"], COLUMNS)
    keys = a_generator(schema, f"id,{name}").record_keys(table).to_pylist()
    expected = [
        f"id:{row},{name}:{part}" for row, part in zip(GOLDEN["rows"], COLUMNS[name]["key_part"], strict=True)
    ]
    assert keys == expected


@pytest.mark.parametrize("name", COLUMNS)
def test_each_type_has_the_same_text_in_a_partition_path_as_in_hudi(name: str) -> None:
    table, schema = a_frame(GOLDEN["rows"], COLUMNS)
    paths = (
        a_generator(schema, "id", name, hive_style=True, url_encode=True).partition_paths(table).to_pylist()
    )
    assert paths == [f"{name}={segment}" for segment in COLUMNS[name]["path_segment"]]


@pytest.mark.parametrize("zone", GOLDEN["consistent_timestamp_key_part"])
def test_consistent_timestamps_are_written_in_the_zone_of_the_jvm(zone: str) -> None:
    ancient = GOLDEN["rows"].index("r5")
    table, schema = a_frame(GOLDEN["rows"], {"ts": COLUMNS["ts"]})
    generator = a_generator(schema, "id,ts", consistent_logical_timestamp=True, default_time_zone=zone)
    expected = GOLDEN["consistent_timestamp_key_part"][zone]
    for position in range(len(expected)):
        row = table.slice(position, 1)
        if position == ancient:
            with pytest.raises(InvalidDataError, match="'ts'"):
                generator.record_keys(row)
        else:
            assert (
                generator.record_keys(row)[0].as_py()
                == f"id:{GOLDEN['rows'][position]},ts:{expected[position]}"
            )


CASES = [(case, zone) for case in GOLDEN["cases"] for zone in sorted(case["expected"])]


@pytest.mark.parametrize(("case", "zone"), CASES, ids=[f"{case['name']}-{zone}" for case, zone in CASES])
def test_each_key_generator_writes_the_same_as_hudi(case: dict[str, object], zone: str) -> None:
    expected = case["expected"][zone]  # type: ignore[index]
    if case.get("frame") == "columns":
        rows = GOLDEN["rows"] if len(expected) > 2 else ["r0", "r3"]
        table, schema = a_frame(GOLDEN["rows"], COLUMNS)
        table = table.filter(pa.array([row in rows for row in GOLDEN["rows"]]))
    else:
        table, schema = a_frame(GOLDEN["time_rows"], GOLDEN["time_columns"])
    options: dict[str, str] = dict(case["options"])  # type: ignore[call-overload]
    generator = KeyGenerator(key_generator_config(None, options, default_time_zone=zone), schema)
    keys, paths = generator.record_keys(table).to_pylist(), generator.partition_paths(table).to_pylist()
    assert [list(pair) for pair in zip(keys, paths, strict=True)] == expected


@pytest.mark.parametrize("name", ["float", "double", "bytes"])
def test_types_whose_text_differs_between_releases_are_refused_as_key_and_partition(name: str) -> None:
    schema = StructType((Field("id", STRING), Field("c", PrimitiveType(name))))
    with pytest.raises(InvalidRequestError, match="record key column 'c'"):
        a_generator(schema, "c")
    with pytest.raises(InvalidRequestError, match="partition column 'c'"):
        a_generator(schema, "id", "c")


def test_a_list_is_refused_as_key() -> None:
    with pytest.raises(InvalidRequestError, match="array<int>"):
        a_generator(StructType((Field("c", ArrayType(INT)),)), "c")


def test_an_error_about_a_missing_key_column_names_the_column() -> None:
    with pytest.raises(InvalidRequestError, match="no column 'nope'"):
        a_generator(StructType((Field("id", STRING),)), "nope")


@pytest.mark.parametrize(
    ("key", "columns", "count", "is_all_null"),
    [
        ("a", {"a": ["x", None, ""]}, 2, True),
        ("n", {"n": pa.array([None, 1], pa.int64()), "b": ["x", "y"]}, 1, False),
        ("a,b", {"a": ["", None, "x"], "b": [None, "", None]}, 2, False),
    ],
)
def test_an_error_about_rows_without_a_key_has_their_number_and_an_example(
    key: str, columns: object, count: int, is_all_null: bool
) -> None:
    table = pa.table(columns)
    fields = tuple(Field(f.name, LONG if f.type == pa.int64() else STRING) for f in table.schema)
    with pytest.raises(InvalidDataError) as refused:
        a_generator(StructType(fields), key).record_keys(table)
    assert f"{count} of {table.num_rows} rows" in str(refused.value)
    assert "Example row: " in str(refused.value)
    assert ("mode=FAILFAST" in refused.value.hint) is is_all_null


def test_a_complex_key_of_one_column_can_include_the_column_name() -> None:
    schema, table = StructType((Field("id", LONG),)), pa.table({"id": [7]})
    assert a_generator(schema, "id").record_keys(table).to_pylist() == ["7"]
    assert a_generator(schema, "id", encodes_single_key_name=True).record_keys(table).to_pylist() == ["id:7"]


def test_dotted_names_select_struct_members() -> None:
    schema = StructType((Field("id", STRING), Field("s", StructType((Field("x", INT),)))))
    table = pa.table({"id": ["a", "b"], "s": pa.array([{"x": 1}, None], pa.struct([("x", pa.int32())]))})
    generator = a_generator(schema, "id,s.x", "s.x", hive_style=True)
    assert generator.record_keys(table).to_pylist() == ["id:a,s.x:1", "id:b,s.x:__null__"]
    assert generator.partition_paths(table).to_pylist() == ["s.x=1", f"s.x={DEFAULT}"]


ESCAPED = {*map(chr, range(1, 32)), *"\"#%'*/:=?\\{[]^\x7f"}


def test_the_same_characters_are_escaped_as_in_hive() -> None:
    characters = [chr(code) for code in range(1, 128)]
    table = pa.table({"id": characters, "p": [f"a{c}b" for c in characters]})
    generator = a_generator(StructType((Field("id", STRING), Field("p", STRING))), "id", "p", url_encode=True)
    expected = [f"a%{ord(c):02X}b" if c in ESCAPED else f"a{c}b" for c in characters]
    assert generator.partition_paths(table).to_pylist() == expected


@pytest.mark.parametrize("value", ["10:30", "a%20b", "/a", "a/", "a//b", "..", "a/../b", "."])
def test_values_that_hudi_cannot_read_back_are_refused_without_url_encoding(value: str) -> None:
    generator = a_generator(StructType((Field("id", STRING), Field("p", STRING))), "id", "p")
    with pytest.raises(InvalidDataError, match="urlencode"):
        generator.partition_paths(pa.table({"id": ["x"], "p": [value]}))


def test_harmless_values_are_unchanged_without_url_encoding() -> None:
    values = ["a b", "x=y", "50%", "ü", "a/b", "#?*", None, ""]
    table = pa.table({"id": ["x"] * len(values), "p": values})
    paths = a_generator(StructType((Field("id", STRING), Field("p", STRING))), "id", "p").partition_paths(
        table
    )
    assert paths.to_pylist() == [*values[:-2], DEFAULT, DEFAULT]


@given(
    st.lists(st.tuples(st.sampled_from([None, "", "a", "b/c"]), st.sampled_from([None, 1, 2])), max_size=8),
    st.integers(0, 8),
)
def test_paths_of_a_batch_equal_the_paths_of_each_row_alone(
    rows: list[tuple[object, object]], cut: int
) -> None:
    schema = StructType((Field("id", LONG), Field("p", STRING), Field("q", LONG)))
    ids = pa.array(range(len(rows)), pa.int64())
    whole = pa.table([ids, pa.array([r[0] for r in rows], pa.string()), pa.array([r[1] for r in rows], pa.int64())],
                     names=["id", "p", "q"])  # fmt: skip
    table = pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])
    generator = a_generator(schema, "id,q", "p,q", hive_style=True, url_encode=True)
    paths, keys = generator.partition_paths(table), generator.record_keys(table)
    assert len(set(paths.dictionary.to_pylist())) == len(paths.dictionary)
    for position in range(len(rows)):
        one = table.slice(position, 1)
        assert paths[position].as_py() == generator.partition_paths(one)[0].as_py()
        assert keys[position].as_py() == generator.record_keys(one)[0].as_py()


def test_empty_tables_have_no_keys_and_no_paths() -> None:
    schema = StructType((Field("id", STRING), Field("p", LONG), Field("t", TIMESTAMP)))
    table = pa.table({"id": pa.array([], pa.string()), "p": pa.array([], pa.int64()),
                      "t": pa.array([], pa.timestamp("us", tz="UTC"))})  # fmt: skip
    for partition in ("", "p", "p,t"):
        generator = a_generator(schema, "id,p", partition, consistent_logical_timestamp=True)
        assert len(generator.record_keys(table)) == len(generator.partition_paths(table)) == 0
