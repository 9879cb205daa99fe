"""Column types of a table, independent of Avro, Arrow and Spark (HoodieSchema, Hudi 1.2; format section 5.3).

This module contains only types that Hudi writes and reads back unchanged. Converters refuse all other types, with a
message that names the type.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from hudi_table_services.errors import InvalidRequestError

META_COLUMNS: tuple[str, ...] = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
"""Columns that Hudi writes before the columns of the user, in this order. All are nullable strings."""

DELETED_FLAG = "_hoodie_is_deleted"
"""Column of the user that marks deletes."""

PRIMITIVE_NAMES = frozenset(
    {
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "string",
        "bytes",
        "date",
        "timestamp",
        "timestamp_ntz",
    }
)
_LEGAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    """A type without inner types.

    Attributes:
        name: one of `PRIMITIVE_NAMES`. ``timestamp`` is microseconds since 1970 in UTC. ``timestamp_ntz`` is
            microseconds of a wall clock without zone. ``date`` is days since 1970.
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in PRIMITIVE_NAMES:
            raise InvalidRequestError(f"There is no column type {self.name!r}.")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DecimalType:
    """Exact decimal number of at most ``precision`` digits (1 to 38). ``scale`` digits follow the decimal point."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise InvalidRequestError(f"There is no column type {self}.")

    @property
    def size_bytes(self) -> int:
        """Return the length of the stored ``fixed``: the smallest number of bytes that can store all values."""
        largest: int = 10**self.precision - 1
        return (largest.bit_length() + 8) // 8

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """A list. ``contains_null`` is True if the type permits nulls, even if the rows contain no nulls."""

    element: "DataType"
    contains_null: bool = True

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """A map with string keys. Avro supports no other keys."""

    value: "DataType"
    value_contains_null: bool = True

    def __str__(self) -> str:
        return f"map<string,{self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a member of a struct. ``doc`` is the comment of the column."""

    name: str
    type: "DataType"
    nullable: bool = True
    doc: str = ""


@dataclass(frozen=True, slots=True)
class StructType:
    """The columns of a table, or the members of a struct column, in order."""

    fields: tuple[Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def find(self, name: str) -> Field | None:
        """Return the field with exactly this name (case-sensitive, as in Avro); None if no field has this name."""
        return next((field for field in self.fields if field.name == name), None)

    def field(self, name: str) -> Field:
        """Return the field with exactly this name. Raises InvalidRequestError if no field has this name."""
        found = self.find(name)
        if found is None:
            raise InvalidRequestError(
                f"There is no column {name!r}.", hint=f"Columns: {', '.join(self.names)}."
            )
        return found

    def at_path(self, path: str) -> Field:
        """Return the field at a dotted path; the result is nullable if the field or any struct on the path is nullable.

        Raises:
            InvalidRequestError: a part of the path is missing or is not a struct.
        """
        first, *rest = path.split(".")
        found, nullable = self.field(first), False
        for part in rest:
            nullable = nullable or found.nullable
            if not isinstance(found.type, StructType):
                raise InvalidRequestError(f"Column {path!r}: {found.name!r} is {found.type}, not a struct.")
            found = found.type.field(part)
        return Field(path, found.type, nullable or found.nullable, found.doc)

    def __str__(self) -> str:
        return f"struct<{','.join(f'{field.name}:{field.type}' for field in self.fields)}>"


DataType: TypeAlias = PrimitiveType | DecimalType | ArrayType | MapType | StructType

BOOLEAN = PrimitiveType("boolean")
INT = PrimitiveType("int")
LONG = PrimitiveType("long")
FLOAT = PrimitiveType("float")
DOUBLE = PrimitiveType("double")
STRING = PrimitiveType("string")
BYTES = PrimitiveType("bytes")
DATE = PrimitiveType("date")
TIMESTAMP = PrimitiveType("timestamp")
TIMESTAMP_NTZ = PrimitiveType("timestamp_ntz")


def without_meta_columns(schema: StructType) -> StructType:
    """Return the schema without Hudi's meta columns."""
    return StructType(tuple(field for field in schema.fields if field.name not in META_COLUMNS))


def with_meta_columns(schema: StructType) -> StructType:
    """Return the columns of a base file: the meta columns, then the columns of the user."""
    meta = tuple(Field(name, STRING) for name in META_COLUMNS)
    return StructType(meta + without_meta_columns(schema).fields)


def is_legal_name(name: str) -> bool:
    """Whether Avro accepts the name of a column or struct member. Hudi has the same rule, because it uses Avro."""
    return _LEGAL_NAME.fullmatch(name) is not None


def walk_fields(schema: StructType, parent: str = "") -> Iterator[tuple[str, Field]]:
    """Yield every field with its dotted path, parents first. List elements and map values do not extend the path."""
    for field in schema.fields:
        path = f"{parent}.{field.name}" if parent else field.name
        yield path, field
        inner = innermost(field.type)
        if isinstance(inner, StructType):
            yield from walk_fields(inner, path)


def innermost(data_type: DataType) -> DataType:
    """Return the type of the innermost list element or map value; return other types unchanged."""
    while isinstance(data_type, ArrayType | MapType):
        data_type = data_type.element if isinstance(data_type, ArrayType) else data_type.value
    return data_type


def check_names(schema: StructType) -> None:
    """Refuse column names that Avro does not allow or that Spark cannot distinguish.

    Raises:
        InvalidRequestError: the message names every invalid column.
    """
    paths = [path for path, _ in walk_fields(schema)]
    illegal = [path for path in paths if not is_legal_name(path.rsplit(".", 1)[-1])]
    if illegal:
        raise InvalidRequestError(
            f"Column names not allowed in a Hudi table: {', '.join(map(repr, illegal))}.",
            hint="Use letters, digits and _, and begin with a letter or _. Rename the columns in the source query.",
        )
    seen: dict[str, str] = {}
    for path in paths:
        if path.lower() in seen:
            raise InvalidRequestError(
                f"Spark cannot distinguish the columns {seen[path.lower()]!r} and {path!r}.",
                hint="Rename one of them in the source query.",
            )
        seen[path.lower()] = path
