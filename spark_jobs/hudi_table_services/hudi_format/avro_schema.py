"""Table schemas as Avro JSON (format section 5.4; HoodieSparkSchemaConverters and AvroConversionUtils, Hudi 1.2).

Names of nested records are exactly the names that Hudi uses, because Hudi 0.15 refuses every upsert into a file whose
schema uses other names. The name of a record is the name of its field. The namespace of a record is the chain of the
enclosing records; lists and maps add no level.
"""

import json
import re
from typing import TypeAlias, cast

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.model.schema import (
    META_COLUMNS,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
    check_names,
    with_meta_columns,
    without_meta_columns,
)

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

_LOGICAL: dict[str, tuple[str, str]] = {
    "date": ("int", "date"),
    "timestamp": ("long", "timestamp-micros"),
    "timestamp_ntz": ("long", "local-timestamp-micros"),
}
_NAME_OF_LOGICAL = {pair: name for name, pair in _LOGICAL.items()}
_PLAIN = frozenset({"boolean", "int", "long", "float", "double", "string", "bytes"})
_ILLEGAL_FIRST = re.compile(r"^[^A-Za-z_]")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")


def record_name(table_name: str) -> str:
    """Return the full name of the top record: ``hoodie.<table>.<table>_record``. ``__`` replaces illegal characters."""
    clean = _ILLEGAL.sub("__", _ILLEGAL_FIRST.sub("__", table_name))
    return f"hoodie.{clean}.{clean}_record"


def to_avro_json(schema: StructType, table_name: str, *, with_meta_fields: bool) -> str:
    """Return the Avro JSON of a table schema, character for character as Hudi writes it.

    The footer of a base file contains the schema with meta fields. Commit metadata and table properties contain the
    schema without meta fields.

    Raises:
        InvalidRequestError: a column name is not a legal Avro name.
    """
    check_names(schema)
    columns = with_meta_columns(schema) if with_meta_fields else without_meta_columns(schema)
    namespace, _, name = record_name(table_name).rpartition(".")
    record = _record(columns, name, namespace, enclosing="")
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False)


def _record(schema: StructType, name: str, namespace: str, enclosing: str) -> dict[str, Json]:
    chain = f"{namespace}.{name}"
    fields: list[Json] = [_field(field, chain, namespace) for field in schema.fields]
    # Avro omits a namespace that equals the namespace of the enclosing record.
    scope: dict[str, Json] = {"namespace": namespace} if namespace != enclosing else {}
    return {"type": "record", "name": name, **scope, "fields": fields}


def _field(field: Field, chain: str, enclosing: str) -> dict[str, Json]:
    node: dict[str, Json] = {
        "name": field.name,
        "type": _union(field.type, field.nullable, field.name, chain, enclosing),
    }
    if field.doc or field.name in META_COLUMNS:
        node["doc"] = field.doc
    if field.nullable:
        node["default"] = None
    return node


def _union(data_type: DataType, nullable: bool, name: str, chain: str, enclosing: str) -> Json:
    node = _type(data_type, name, chain, enclosing)
    return ["null", node] if nullable else node


def _type(data_type: DataType, name: str, chain: str, enclosing: str) -> Json:
    match data_type:
        case StructType():
            return _record(data_type, name, chain, enclosing)
        case ArrayType():
            items = _union(data_type.element, data_type.contains_null, name, chain, enclosing)
            return {"type": "array", "items": items}
        case MapType():
            values = _union(data_type.value, data_type.value_contains_null, name, chain, enclosing)
            return {"type": "map", "values": values}
        case DecimalType():
            return {
                "type": "fixed",
                "name": "fixed",
                "namespace": f"{chain}.{name}",
                "size": data_type.size_bytes,
                "logicalType": "decimal",
                "precision": data_type.precision,
                "scale": data_type.scale,
            }
        case PrimitiveType() if data_type.name in _LOGICAL:
            base, logical = _LOGICAL[data_type.name]
            return {"type": base, "logicalType": logical}
        case PrimitiveType():
            return data_type.name


def from_optional_avro_json(text: str | None) -> StructType | None:
    """Return the result of `from_avro_json`, or None if the table has no schema yet."""
    return from_avro_json(text) if text else None


def from_avro_json(text: str) -> StructType:
    """Return the columns of an Avro record, without the meta columns.

    Accepts ``["null", T]`` and, as Spark SQL writes it into table properties, ``[T, "null"]``.

    Raises:
        MalformedMetadataError: the text is not an Avro record schema.
        UnsupportedTableError: a column has a type that this release cannot write unchanged (milliseconds, enum,
            decimal stored as bytes, union of several types, …); the message names the column and the type.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedMetadataError(f"The table schema is not JSON: {error}.") from error
    try:
        schema = _Reader().read(parsed, "", "")
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedMetadataError(f"The table schema is not an Avro schema: {error!r}.") from error
    if not isinstance(schema, StructType):
        raise MalformedMetadataError(f"The table schema is {schema}, not an Avro record.")
    return without_meta_columns(schema)


class _Reader:
    """Reads one schema document. Keeps the named types, because Avro defines a named type only once."""

    def __init__(self) -> None:
        self._named: dict[str, DataType] = {}

    def read(self, node: Json, path: str, namespace: str) -> DataType:
        if isinstance(node, str):
            return self._by_name(node, path, namespace)
        if not isinstance(node, dict):
            raise _unsupported(path, node)
        kind = node["type"]
        if not isinstance(kind, str):
            return self.read(kind, path, namespace)
        logical = node.get("logicalType")
        match kind:
            case "record" | "error":
                return self._record(node, path, namespace)
            case "array":
                return ArrayType(*self._nullable(node["items"], path, namespace))
            case "map":
                return MapType(*self._nullable(node["values"], path, namespace))
            case "fixed" if logical == "decimal":
                return self._decimal(node, path, namespace)
        if logical is None or kind == "string":
            return self._by_name(kind, path, namespace)
        name = _NAME_OF_LOGICAL.get((kind, str(logical)))
        if name is None:
            raise _unsupported(path, node)
        return PrimitiveType(name)

    def _record(self, node: dict[str, Json], path: str, namespace: str) -> StructType:
        full_name, inner = _full_name(node, namespace)
        fields = tuple(
            self._field(cast("dict[str, Json]", item), path, inner)
            for item in cast("list[Json]", node["fields"])
        )
        record = StructType(fields)
        self._named[full_name] = record
        return record

    def _field(self, node: dict[str, Json], parent: str, namespace: str) -> Field:
        name = cast(str, node["name"])
        path = f"{parent}.{name}" if parent else name
        data_type, nullable = self._nullable(node["type"], path, namespace)
        return Field(name, data_type, nullable, cast(str, node.get("doc") or ""))

    def _nullable(self, node: Json, path: str, namespace: str) -> tuple[DataType, bool]:
        if not isinstance(node, list):
            return self.read(node, path, namespace), False
        branches = [branch for branch in node if branch != "null"]
        if len(branches) != 1:
            raise _unsupported(path, node)
        return self.read(branches[0], path, namespace), len(branches) < len(node)

    def _decimal(self, node: dict[str, Json], path: str, namespace: str) -> DecimalType:
        decimal = DecimalType(cast(int, node["precision"]), cast(int, node.get("scale", 0)))
        if node["size"] != decimal.size_bytes:
            raise _unsupported(path, node)
        self._named[_full_name(node, namespace)[0]] = decimal
        return decimal

    def _by_name(self, name: str, path: str, namespace: str) -> DataType:
        if name in _PLAIN:
            return PrimitiveType(name)
        known = self._named.get(name) or self._named.get(f"{namespace}.{name}")
        if known is None:
            raise _unsupported(path, name)
        return known


def _full_name(node: dict[str, Json], enclosing: str) -> tuple[str, str]:
    """Return the full name of a named type, and the namespace that applies inside the type."""
    name = cast(str, node["name"])
    namespace = cast(str, node.get("namespace", enclosing))
    full_name = name if "." in name or not namespace else f"{namespace}.{name}"
    return full_name, full_name.rpartition(".")[0]


def _unsupported(path: str, node: Json) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"Column {path or '(top)'!r} has the Avro type {json.dumps(node)}, which cannot be written unchanged.",
        hint="Write this table with the program that created it, or let that program convert the column first.",
    )
