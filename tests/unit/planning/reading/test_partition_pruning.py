"""Partition paths prove values of partition columns, or nothing."""

from datetime import date

import pytest

from hudi_table_services.model.schema import DATE, DOUBLE, LONG, STRING, Field, StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.planning.reading.column_predicates import column_predicates, parse_predicates
from hudi_table_services.planning.reading.partition_pruning import PartitionLayout

SCHEMA = StructType(
    (Field("s", STRING), Field("n", LONG), Field("d", DATE), Field("x", DOUBLE), Field("t", STRING))
)


def config_of(fields: str, properties: dict[str, str]) -> TableConfig:
    """A table with a COMPLEX key generator, unless the properties contain another key generator."""
    named = {key.replace("__", "."): value for key, value in properties.items()}
    generator = (
        {} if any("keygenerator" in key for key in named) else {"hoodie.table.keygenerator.type": "COMPLEX"}
    )
    return TableConfig({"hoodie.table.partition.fields": fields, **generator, **named})


def values(path: str, fields: str, **properties: str) -> dict[str, object]:
    found = PartitionLayout.of(config_of(fields, properties), SCHEMA).ranges_of(path)
    assert all(each.min_value == each.max_value and each.null_count == 0 for each in found.values())
    return {name: each.min_value for name, each in found.items()}


HIVE = {"hoodie__datasource__write__hive_style_partitioning": "true"}
ENCODED = {"hoodie__datasource__write__partitionpath__urlencode": "true"}


@pytest.mark.parametrize(
    ("path", "fields", "properties", "expected"),
    [
        ("a", "s", {}, {"s": "a"}),
        ("2026-01-02", "s", {}, {"s": "2026-01-02"}),
        ("s=a", "s", HIVE, {"s": "a"}),
        ("s=a%2Fb", "s", {**HIVE, **ENCODED}, {"s": "a/b"}),
        ("a%2Fb", "s", {}, {"s": "a%2Fb"}),
        ("a/7", "s,n", {}, {"s": "a", "n": 7}),
        ("s=a/n=-7", "s,n", HIVE, {"s": "a", "n": -7}),
        ("1970-01-03", "d", {}, {"d": 2}),
        ("a/1.5", "s,x", {}, {"s": "a"}),
        ("", "", {}, {}),
    ],
)
def test_values_of_partition_columns_are_read_from_paths(
    path: str, fields: str, properties: dict[str, str], expected: dict[str, object]
) -> None:
    assert values(path, fields, **properties) == expected


@pytest.mark.parametrize(
    ("path", "fields", "properties"),
    [
        ("__HIVE_DEFAULT_PARTITION__", "s", {}),  # null or an empty string
        ("a", "s", HIVE),  # not written in Hive's style
        ("a/b/c", "s,t", {}),  # a value with a slash
        ("2026/01/02", "s", {}),  # possibly the date 2026-01-02
        ("007", "n", {}),
        ("20560", "d", {}),  # a date as a number of days
        ("1970-02-30", "d", {}),
    ],
)
def test_ambiguous_and_unusual_paths_prove_nothing(
    path: str, fields: str, properties: dict[str, str]
) -> None:
    assert values(path, fields, **properties) == {}


def test_formatted_times_prove_nothing() -> None:
    assert values("2026", "s", hoodie__table__keygenerator__type="TIMESTAMP") == {}
    assert values("2026/a", "s:TIMESTAMP,t:SIMPLE") == {"t": "a"}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"hoodie__table__keygenerator__class": "org.apache.hudi.keygen.SimpleKeyGenerator"}, {"s": "a"}),
        ({"hoodie__table__keygenerator__class": "com.example.HashKeyGenerator"}, {}),
        ({"hoodie__table__keygenerator__type": "SIMPLE"}, {"s": "a"}),
        ({"hoodie__table__keygenerator__type": "USER_PROVIDED"}, {}),
        ({"hoodie__table__keygenerator__class": "org.apache.hudi.keygen.CustomKeyGenerator"}, {}),
        (
            {
                "hoodie__table__keygenerator__type": "CUSTOM",
                "hoodie__table__partition__fields": "s:SIMPLE",
            },
            {"s": "a"},
        ),
        ({"hoodie__table__keygenerator__type": ""}, {}),
        (
            {"hoodie__table__keygenerator__type": "", "hoodie__table__partition__fields": "s:SIMPLE"},
            {"s": "a"},
        ),
        ({"hoodie__table__metadata__partitions": "files,column_stats"}, {"s": "a"}),
        ({"hoodie__table__metadata__partitions": "files,record_index"}, {}),
    ],
)
def test_paths_of_unknown_key_generators_and_of_tables_with_a_record_index_prove_nothing(
    properties: dict[str, str], expected: dict[str, object]
) -> None:
    assert values("a", "s", **properties) == expected


def named(fields: str, *filters: object, **properties: str) -> tuple[str, ...] | None:
    predicates = column_predicates(parse_predicates(filters), SCHEMA)
    return PartitionLayout.of(config_of(fields, properties), SCHEMA).named_paths(predicates)


@pytest.mark.parametrize(
    ("fields", "filters", "properties", "expected"),
    [
        ("s", [("s", "=", "a")], {}, ("a",)),
        ("s", [("s", "in", ["b", "a"])], HIVE, ("s=a", "s=b")),
        ("s,n", [("n", "=", -1), ("s", "in", ["a", "b"])], HIVE, ("s=a/n=-1", "s=b/n=-1")),
        ("s", [("s", "in", [])], {}, ()),
        ("s", [("s", ">", "a")], {}, None),
        ("s,n", [("s", "=", "a")], {}, None),
        ("s", [("s", "=", "a/b")], {}, None),
        ("s", [("s", "=", "2026-01-02")], {}, None),
        ("d", [("d", "=", date(2026, 1, 2))], {}, None),
        ("s,x", [("s", "=", "a"), ("x", "=", 1.0)], {}, None),
        ("n", [("n", "in", list(range(51)))], {}, None),
        ("", [("s", "=", "a")], {}, None),
    ],
)
def test_the_only_partitions_are_known_if_filters_name_all_partition_values(
    fields: str, filters: list[object], properties: dict[str, str], expected: tuple[str, ...] | None
) -> None:
    assert named(fields, *filters, **properties) == expected


@pytest.mark.parametrize("properties", [{}, HIVE, ENCODED, {**HIVE, **ENCODED}])
@pytest.mark.parametrize(("column", "value"), [("s", "a-b_C9"), ("n", 0), ("n", -7)])
def test_a_named_path_proves_the_value_of_its_filter(
    column: str, value: object, properties: dict[str, str]
) -> None:
    (path,) = named(column, (column, "=", value), **properties) or ()
    assert values(path, column, **properties) == {column: value}
