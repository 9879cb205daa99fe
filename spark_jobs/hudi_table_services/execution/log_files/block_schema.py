"""Parse the Avro schema in the header of a data block, and find the Arrow types of the block's values.

A block may come from any writer, so it can have types that this project never writes: times, timestamps in
milliseconds, decimals in `bytes`, and unions with null as the second branch.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.avro_limits import bounded_schema

_CACHED_SCHEMAS = 32
_MOST_DECIMAL_DIGITS = 38
_MOST_FIXED_BYTES = 2**31 - 1
_PHYSICAL: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "fixed": pa.binary(),
}
_LOGICAL: Mapping[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", tz="UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", tz="UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroType:
    """Type of a column, an item or a member.

    Attributes:
        kind: name of the Avro type, without the union with null.
        arrow: Arrow type of the values.
        is_nullable: whether the type is a union with null.
        null_branch: number of the null branch, 0 or 1; only for nullable types.
        size: number of bytes of a `fixed` value.
        members: item type of an array, value type of a map, types of the fields of a record.
        names: names of the fields of a record.
    """

    kind: str
    arrow: pa.DataType
    is_nullable: bool = False
    null_branch: int = 0
    size: int = 0
    members: "tuple[AvroType, ...]" = ()
    names: tuple[str, ...] = ()

    @property
    def is_flat(self) -> bool:
        """Whether the value has no inner values, so that many rows can be decoded at once."""
        return not self.members and self.kind != "record"

    @property
    def is_decimal(self) -> bool:
        return bool(pa.types.is_decimal(self.arrow))

    def avro(self, name: str) -> Any:
        """Return an Avro schema without logical types. The schema refers to no type outside itself.

        Args:
            name: name of the type, if it needs one. The names of inner types begin with it.
        """
        inner = [member.avro(f"{name}_{number}") for number, member in enumerate(self.members)]
        schema: Any = self.kind
        if self.kind == "record":
            fields = [{"name": n, "type": t} for n, t in zip(self.names, inner, strict=True)]
            schema = {"type": "record", "name": name, "fields": fields}
        elif self.kind == "fixed":
            schema = {"type": "fixed", "name": name, "size": self.size}
        elif inner:
            schema = {"type": self.kind, "items" if self.kind == "array" else "values": inner[0]}
        if not self.is_nullable:
            return schema
        return ["null", schema] if self.null_branch == 0 else [schema, "null"]

    @property
    def physical(self) -> pa.DataType:
        """Return the Arrow type before the conversion to the logical type."""
        if self.kind == "array":
            return _list_of(self.members[0].physical, is_nullable=self.members[0].is_nullable)
        if self.kind == "map":
            return _map_of(self.members[0].physical, is_nullable=self.members[0].is_nullable)
        if self.kind == "record":
            named = zip(self.names, self.members, strict=True)
            return pa.struct([pa.field(name, member.physical, member.is_nullable) for name, member in named])
        return _PHYSICAL[self.kind]


def _list_of(items: pa.DataType, *, is_nullable: bool) -> pa.DataType:
    return pa.list_(pa.field("element", items, is_nullable))


def _map_of(value: pa.DataType, *, is_nullable: bool) -> pa.DataType:
    return pa.map_(pa.field("key", pa.string(), nullable=False), pa.field("value", value, is_nullable))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSchema:
    """Columns of a block in the order of their bytes."""

    names: tuple[str, ...]
    types: tuple[AvroType, ...]

    @property
    def arrow(self) -> pa.Schema:
        """Return the Arrow schema of all columns."""
        named = zip(self.names, self.types, strict=True)
        return pa.schema([pa.field(name, t.arrow, t.is_nullable) for name, t in named])


@lru_cache(maxsize=_CACHED_SCHEMAS)  # all blocks of a writer have one schema
def parse_block_schema(text: str) -> BlockSchema:
    """Parse the schema of a block.

    Raises:
        MalformedMetadataError: the text is not the Avro schema of a record, or the cost of reading with this schema
            has no bound.
        UnsupportedTableError: a column has a type that the project cannot read; the message names the column.
    """
    try:
        document = json.loads(text)
        bounded_schema(document)
        record = _Parser().parse(document, "", "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise MalformedMetadataError(
            f"The Avro schema of a log block cannot be read: {error!r:.200}."
        ) from error
    if record.kind != "record" or record.is_nullable or len(set(record.names)) != len(record.names):
        raise MalformedMetadataError("The Avro schema of a log block is not a record with distinct fields.")
    return BlockSchema(names=record.names, types=record.members)


class _Parser:
    """Parses one document, which `bounded_schema` has accepted. Keeps the named types, because later nodes use them."""

    def __init__(self) -> None:
        self._named: dict[str, AvroType] = {}

    def parse(self, node: Any, path: str, namespace: str) -> AvroType:
        if isinstance(node, list):
            return self._union(node, path, namespace)
        if isinstance(node, str):
            return self._by_name(node, path, namespace)
        kind, logical = node["type"], node.get("logicalType")
        if not isinstance(kind, str):
            return self.parse(kind, path, namespace)
        match kind:
            case "record" | "error":
                return self._record(node, path, namespace)
            case "array":
                items = self.parse(node["items"], path, namespace)
                arrow = _list_of(items.arrow, is_nullable=items.is_nullable)
                return AvroType(kind=kind, arrow=arrow, members=(items,))
            case "map":
                value = self.parse(node["values"], path, namespace)
                return AvroType(
                    kind=kind, arrow=_map_of(value.arrow, is_nullable=value.is_nullable), members=(value,)
                )
            case "fixed":
                return self._fixed(node, path, namespace)
        if logical == "decimal" and kind == "bytes":
            return AvroType(kind=kind, arrow=_decimal(node, path))
        arrow = _LOGICAL.get((kind, logical)) if isinstance(logical, str) else None
        return self._by_name(kind, path, namespace) if arrow is None else AvroType(kind=kind, arrow=arrow)

    def _union(self, node: list[Any], path: str, namespace: str) -> AvroType:
        branches = [branch for branch in node if branch != "null"]
        if len(branches) != 1 or len(node) != 2:
            raise _unsupported(path, node)
        found = self.parse(branches[0], path, namespace)
        if found.is_nullable:
            raise _unsupported(path, node)
        return AvroType(
            kind=found.kind,
            arrow=found.arrow,
            is_nullable=True,
            null_branch=node.index("null"),
            size=found.size,
            members=found.members,
            names=found.names,
        )

    def _record(self, node: Mapping[str, Any], path: str, namespace: str) -> AvroType:
        full_name, inner = _full_name(node, namespace)
        names, members = [], []
        for item in node["fields"]:
            names.append(item["name"])
            members.append(
                self.parse(item["type"], f"{path}.{item['name']}" if path else item["name"], inner)
            )
        named = zip(names, members, strict=True)
        fields = [pa.field(name, member.arrow, member.is_nullable) for name, member in named]
        record = AvroType(kind="record", arrow=pa.struct(fields), members=tuple(members), names=tuple(names))
        self._named[full_name] = record
        return record

    def _fixed(self, node: Mapping[str, Any], path: str, namespace: str) -> AvroType:
        if node["size"] > _MOST_FIXED_BYTES:
            raise _unsupported(path, dict(node))
        arrow = _decimal(node, path) if node.get("logicalType") == "decimal" else pa.binary()
        fixed = AvroType(kind="fixed", arrow=arrow, size=node["size"])
        self._named[_full_name(node, namespace)[0]] = fixed
        return fixed

    def _by_name(self, name: str, path: str, namespace: str) -> AvroType:
        if name in _PHYSICAL and name != "fixed":
            return AvroType(kind=name, arrow=_PHYSICAL[name])
        known = self._named.get(name) or self._named.get(f"{namespace}.{name}")
        if known is None:
            raise _unsupported(path, name)
        return known


def _decimal(node: Mapping[str, Any], path: str) -> pa.DataType:
    precision, scale = node.get("precision"), node.get("scale", 0)
    if type(precision) is not int or type(scale) is not int:
        raise _unsupported(path, dict(node))
    if not (1 <= precision <= _MOST_DECIMAL_DIGITS and 0 <= scale <= precision):
        raise _unsupported(path, dict(node))
    return pa.decimal128(precision, scale)


def _full_name(node: Mapping[str, Any], enclosing: str) -> tuple[str, str]:
    """Return the full name of a named type, and the namespace that applies inside this type."""
    name, namespace = node["name"], node.get("namespace", enclosing) or ""
    full_name = name if "." in name or not namespace else f"{namespace}.{name}"
    return full_name, full_name.rpartition(".")[0]


def _unsupported(path: str, node: Any) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"A log block stores the column {path or '(top)'!r} with the Avro type {json.dumps(node):.200}, which this "
        "release does not read.",
        hint="Compact the table with the program that wrote the block.",
    )
