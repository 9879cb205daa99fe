"""Convert types of columns to Hive's syntax and to Spark's JSON (HiveSchemaUtil and AvroToSparkJson, Hudi 1.2)."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import (
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    StructType,
)

_HIVE_NAMES = {"long": "bigint", "bytes": "binary", "timestamp_ntz": "timestamp"}
_SPARK_NAMES = {"int": "integer", "bytes": "binary"}
_TIMES = frozenset({"timestamp", "timestamp_ntz"})

# The promotions that `schema_evolution.evolve_schema` and Hudi allow, as pairs of Hive types.
_PROMOTIONS: dict[str, frozenset[str]] = {
    "int": frozenset({"bigint", "float", "double", "string"}),
    "bigint": frozenset({"float", "double", "string", "timestamp"}),
    "float": frozenset({"double", "string"}),
    "double": frozenset({"string"}),
    "date": frozenset({"string"}),
    "binary": frozenset({"string"}),
    "string": frozenset({"binary"}),
    "timestamp": frozenset({"bigint"}),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def hive_type(data_type: DataType, *, supports_timestamp: bool | None) -> str:
    """Return the type in Hive's syntax, in lower case and without blanks, such as ``array<struct<a:int>>``.

    Args:
        supports_timestamp: False converts timestamps to ``bigint``; True and None convert them to ``timestamp``.
    """
    match data_type:
        case StructType():
            members = (
                f"{member.name.lower()}:{hive_type(member.type, supports_timestamp=supports_timestamp)}"
                for member in data_type.fields
            )
            return f"struct<{','.join(members)}>"
        case ArrayType():
            return f"array<{hive_type(data_type.element, supports_timestamp=supports_timestamp)}>"
        case MapType():
            return f"map<string,{hive_type(data_type.value, supports_timestamp=supports_timestamp)}>"
        case DecimalType():
            return f"decimal({data_type.precision},{data_type.scale})"
        case _:
            if data_type.name in _TIMES and supports_timestamp is False:
                return "bigint"
            return _HIVE_NAMES.get(data_type.name, data_type.name)


def spark_schema_json(schema: StructType, partition_fields: Collection[str]) -> str:
    """Return the schema as Spark stores it in the properties of a table: partition columns are the last columns."""
    data = [field for field in schema.fields if field.name not in partition_fields]
    partition = [field for name in partition_fields if (field := schema.find(name)) is not None]
    return json.dumps(_spark_struct([*data, *partition]), separators=(",", ":"), ensure_ascii=False)


def nullable_columns(schema: StructType, names: Sequence[str]) -> dict[str, Any]:
    """Return columns in the form of Spark's ``StructType.jsonValue()``.

    All columns are nullable, as in a DataFrame that Spark reads from files.

    Raises:
        InvalidRequestError: the schema has no such column.
    """
    return _spark_struct([replace(schema.field(name), nullable=True) for name in names])


def _spark_struct(fields: Sequence[Field]) -> dict[str, Any]:
    members = [
        {
            "name": field.name,
            "type": _spark_type(field.type),
            "nullable": field.nullable,
            "metadata": {"comment": field.doc} if field.doc else {},
        }
        for field in fields
    ]
    return {"type": "struct", "fields": members}


def _spark_type(data_type: DataType) -> Any:
    match data_type:
        case StructType():
            return _spark_struct(data_type.fields)
        case ArrayType():
            element = _spark_type(data_type.element)
            return {"type": "array", "elementType": element, "containsNull": data_type.contains_null}
        case MapType():
            return {
                "type": "map",
                "keyType": "string",
                "valueType": _spark_type(data_type.value),
                "valueContainsNull": data_type.value_contains_null,
            }
        case DecimalType():
            return f"decimal({data_type.precision},{data_type.scale})"
        case _:
            return _SPARK_NAMES.get(data_type.name, data_type.name)


def are_equal_types(one: str, other: str) -> bool:
    """Whether two Hive types are equal, apart from blanks and letter case."""
    return _normal(one) == _normal(other)


def differ_only_in_timestamps(one: str, other: str) -> bool:
    """Whether two Hive types are equal except that one has ``bigint`` where the other one has ``timestamp``."""
    return _normal(one).replace("timestamp", "bigint") == _normal(other).replace("timestamp", "bigint")


def can_replace(old: str, new: str) -> bool:
    """Whether a column of a catalog may change its type from `old` to `new`.

    Numbers may become wider, numbers may become strings, decimals may become wider, and inner types may change in the
    same way. Structs may gain and lose members. ``bigint`` and ``timestamp`` may replace each other, because
    ``hoodie.datasource.hive_sync.support_timestamp`` chooses between them.

    Raises:
        InvalidRequestError: `old` or `new` is not a Hive type.
    """
    before, after = _normal(old), _normal(new)
    if before == after or after in _PROMOTIONS.get(before, ()):
        return True
    kind, inner = _split(before)
    other_kind, other_inner = _split(after)
    if kind != other_kind or kind not in ("struct", "array", "map"):
        return _is_wider_decimal(before, after)
    if kind == "struct":
        members, others = dict(map(_member, inner)), dict(map(_member, other_inner))
        return all(can_replace(members[name], others[name]) for name in members.keys() & others.keys())
    return len(inner) == len(other_inner) and all(map(can_replace, inner, other_inner))


def _normal(text: str) -> str:
    return re.sub(r"[\s`]", "", text).lower()


def _member(text: str) -> tuple[str, str]:
    name, _, member_type = text.partition(":")
    return name, member_type


def _split(text: str) -> tuple[str, list[str]]:
    """Split ``map<string,array<int>>`` into ``map`` and its inner types; other types have no inner types."""
    kind, opening, rest = text.partition("<")
    if not opening:
        return kind, []
    if not rest.endswith(">"):
        raise InvalidRequestError(f"{text!r} is not a Hive type.")
    parts, depth, begin, body = [], 0, 0, rest[:-1]
    for position, character in enumerate(body):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append(body[begin:position])
            begin = position + 1
    return kind, [*parts, body[begin:]]


def _is_wider_decimal(before: str, after: str) -> bool:
    old, new = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    if old is None or new is None:
        return False
    (precision, scale), (new_precision, new_scale) = map(int, old.groups()), map(int, new.groups())
    return new_scale >= scale and new_precision - new_scale >= precision - scale
