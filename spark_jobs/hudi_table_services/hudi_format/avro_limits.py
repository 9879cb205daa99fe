"""What the schema inside an Avro file may ask of its reader.

A file brings the schema it is to be read with, so a few bytes could ask for endless work: an array of a million
items that take no bytes each, a record that holds itself, records that hold each other twice, and those again. Such
schemas are refused before anything is read with them; no file of Hudi's has one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_MOST_LEVELS = 64
_MOST_VALUES = 2000


@dataclass(frozen=True, slots=True)
class _Cost:
    """What reading one value takes.

    Attributes:
        takes_bytes: False: a value may be there without any byte of the file.
        values: values inside it, itself included; an array or map counts as one of its items.
    """

    takes_bytes: bool
    values: int = 1


def bounded_schema(schema: object) -> Any:
    """The schema without what only decorates it, such as logical types, which turn values into other ones.

    Raises:
        ValueError: it is no Avro schema, or reading with it has no bounds.
    """
    return _Walk().of(schema, "", 0)[0]


class _Walk:
    """Through one schema; remembers named types, which Avro spells out only once."""

    def __init__(self) -> None:
        self._named: dict[str, _Cost | None] = {}  # None: its end is not reached yet

    def of(self, node: object, namespace: str, level: int) -> tuple[Any, _Cost]:
        if level > _MOST_LEVELS:
            raise ValueError(f"its schema has more than {_MOST_LEVELS} levels")
        if isinstance(node, str):
            return self._by_name(node, namespace)
        if isinstance(node, list):
            branches = [self.of(branch, namespace, level + 1) for branch in node]
            cost = _Cost(True, 1 + max((cost.values for _, cost in branches), default=0))
            return [branch for branch, _ in branches], cost
        if not isinstance(node, Mapping):
            raise ValueError(f"its schema has {type(node).__name__} for a type")
        return self._of_object(node, namespace, level)

    def _of_object(self, node: Mapping[str, Any], namespace: str, level: int) -> tuple[Any, _Cost]:
        match node.get("type"):
            case "record" | "error":
                return self._record(node, namespace, level)
            case "array":
                items, cost = self.of(node.get("items"), namespace, level + 1)
                if not cost.takes_bytes:
                    raise ValueError("its schema has an array of items without any bytes")
                return {"type": "array", "items": items}, _Cost(True, 1 + cost.values)
            case "map":
                values, cost = self.of(node.get("values"), namespace, level + 1)
                return {"type": "map", "values": values}, _Cost(True, 1 + cost.values)
            case "enum":
                name, _ = self._full_name(node, namespace)
                self._named[name] = _Cost(True)
                return {"type": "enum", "name": name, "symbols": node.get("symbols")}, _Cost(True)
            case "fixed":
                name, _ = self._full_name(node, namespace)
                size = node.get("size")
                if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                    raise ValueError(f"its schema has a fixed type of size {size!r}")
                self._named[name] = _Cost(size > 0)
                return {"type": "fixed", "name": name, "size": size}, _Cost(size > 0)
            case inner:
                return self.of(inner, namespace, level + 1)

    def _record(self, node: Mapping[str, Any], namespace: str, level: int) -> tuple[Any, _Cost]:
        name, inner = self._full_name(node, namespace)
        self._named[name] = None
        fields, takes_bytes, values = [], False, 1
        for field in node.get("fields") or ():
            if not isinstance(field, Mapping) or not isinstance(field.get("name"), str):
                raise ValueError(f"its schema has a field without a name in {name}")
            schema, cost = self.of(field.get("type"), inner, level + 1)
            fields.append({"name": field["name"], "type": schema})
            takes_bytes, values = takes_bytes or cost.takes_bytes, values + cost.values
        if values > _MOST_VALUES:
            raise ValueError(f"its schema has more than {_MOST_VALUES} values in {name}")
        total = _Cost(takes_bytes, values)
        self._named[name] = total
        return {"type": "record", "name": name, "fields": fields}, total

    def _by_name(self, name: str, namespace: str) -> tuple[str, _Cost]:
        if name in _PRIMITIVES:
            return name, _Cost(name != "null")
        full_name = name if "." in name or not namespace else f"{namespace}.{name}"
        if full_name not in self._named:
            raise ValueError(f"its schema names an unknown type {full_name!r}")
        cost = self._named[full_name]
        if cost is None:
            raise ValueError(f"its schema has {full_name} inside itself")
        return full_name, cost

    @staticmethod
    def _full_name(node: Mapping[str, Any], enclosing: str) -> tuple[str, str]:
        """Full name of a named type, and the namespace in force inside it."""
        name, namespace = node.get("name"), node.get("namespace", enclosing) or ""
        if not isinstance(name, str) or not isinstance(namespace, str) or not name:
            raise ValueError("its schema has a type without a name")
        full_name = name if "." in name or not namespace else f"{namespace}.{name}"
        return full_name, full_name.rpartition(".")[0]
