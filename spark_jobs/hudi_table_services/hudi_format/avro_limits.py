"""Limits for the schema inside an Avro file. The limits bound the cost of reading the file.

An Avro file contains the schema for reading it, so a few damaged or hostile bytes could cause unbounded work. Examples
are an array of a million items of zero bytes, a record that contains itself, and nested records, where each level
doubles the number of values. This module refuses such a schema before any data is read. Hudi writes no such schema.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_MAX_LEVELS = 64
_MAX_VALUES = 2000


@dataclass(frozen=True, slots=True)
class _Cost:
    """Cost of reading one value of a type.

    Attributes:
        always_has_bytes: False if a value of the type can occupy zero bytes in the file.
        values: number of nested values in a value of the type, including the value itself; an array or map is assumed
            to have one item.
    """

    always_has_bytes: bool
    values: int = 1


def bounded_schema(schema: object) -> Any:
    """Check a schema and reduce it to its structure.

    Annotations such as logical types, which would convert values, are removed.

    Raises:
        ValueError: `schema` is not an Avro schema, or the cost of reading a file with this schema is not bounded.
    """
    return _Checker().check(schema, "", 0)[0]


class _Checker:
    """Checks one schema. Keeps the cost of each named type, because Avro defines a named type only once."""

    def __init__(self) -> None:
        self._named: dict[str, _Cost | None] = {}  # None while the definition of the type is still being read

    def check(self, node: object, namespace: str, level: int) -> tuple[Any, _Cost]:
        if level > _MAX_LEVELS:
            raise ValueError(f"the file's schema has more than {_MAX_LEVELS} levels")
        if isinstance(node, str):
            return self._by_name(node, namespace)
        if isinstance(node, list):
            branches = [self.check(branch, namespace, level + 1) for branch in node]
            cost = _Cost(True, 1 + max((cost.values for _, cost in branches), default=0))
            return [branch for branch, _ in branches], cost
        if not isinstance(node, Mapping):
            raise ValueError(f"the file's schema contains {node!r:.60} where a type is expected")
        return self._check_object(node, namespace, level)

    def _check_object(self, node: Mapping[str, Any], namespace: str, level: int) -> tuple[Any, _Cost]:
        match node.get("type"):
            case "record" | "error":
                return self._record(node, namespace, level)
            case "array":
                items, cost = self.check(node.get("items"), namespace, level + 1)
                if not cost.always_has_bytes:
                    raise ValueError("the file's schema has an array whose items can occupy zero bytes")
                return {"type": "array", "items": items}, _Cost(True, 1 + cost.values)
            case "map":
                values, cost = self.check(node.get("values"), namespace, level + 1)
                return {"type": "map", "values": values}, _Cost(True, 1 + cost.values)
            case "enum":
                name, _ = self._full_name(node, namespace)
                self._named[name] = _Cost(True)
                return {"type": "enum", "name": name, "symbols": node.get("symbols")}, _Cost(True)
            case "fixed":
                name, _ = self._full_name(node, namespace)
                size = node.get("size")
                if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                    raise ValueError(f"the file's schema has a fixed type of size {size!r}")
                self._named[name] = _Cost(size > 0)
                return {"type": "fixed", "name": name, "size": size}, _Cost(size > 0)
            case inner:
                return self.check(inner, namespace, level + 1)

    def _record(self, node: Mapping[str, Any], namespace: str, level: int) -> tuple[Any, _Cost]:
        name, inner = self._full_name(node, namespace)
        self._named[name] = None
        fields, always_has_bytes, values = [], False, 1
        for field in node.get("fields") or ():
            if not isinstance(field, Mapping) or not isinstance(field.get("name"), str):
                raise ValueError(f"the file's schema has a field without a name in {name}")
            schema, cost = self.check(field.get("type"), inner, level + 1)
            fields.append({"name": field["name"], "type": schema})
            always_has_bytes, values = always_has_bytes or cost.always_has_bytes, values + cost.values
        if values > _MAX_VALUES:
            raise ValueError(f"the file's schema has more than {_MAX_VALUES} values in {name}")
        total = _Cost(always_has_bytes, values)
        self._named[name] = total
        return {"type": "record", "name": name, "fields": fields}, total

    def _by_name(self, name: str, namespace: str) -> tuple[str, _Cost]:
        if name in _PRIMITIVES:
            return name, _Cost(name != "null")
        full_name = name if "." in name or not namespace else f"{namespace}.{name}"
        if full_name not in self._named:
            raise ValueError(f"the file's schema names an unknown type {full_name!r}")
        cost = self._named[full_name]
        if cost is None:
            raise ValueError(f"the file's schema has a type {full_name} that contains itself")
        return full_name, cost

    @staticmethod
    def _full_name(node: Mapping[str, Any], enclosing: str) -> tuple[str, str]:
        """Return the full name of a named type, and the namespace that applies inside the type."""
        name, namespace = node.get("name"), node.get("namespace", enclosing) or ""
        if not isinstance(name, str) or not isinstance(namespace, str) or not name:
            raise ValueError("the file's schema has a type without a name")
        full_name = name if "." in name or not namespace else f"{namespace}.{name}"
        return full_name, full_name.rpartition(".")[0]
