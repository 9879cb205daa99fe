"""Widen the table's schema for the rows of a write, as Hudi does on write (HoodieSchemaCompatibility, 1.2).

The rules were observed with Hudi 0.15.0 and 1.2.0 at their default options; docs/schema-evolution.md lists all cases.
This module refuses three kinds of changes that Hudi accepts. First, changes that lose or invent values: strings parsed
as decimals, numbers read as times, bytes written as the name of a Java object. Second, floating point numbers written
as strings, because the strings depend on the Java version. Third, wider numbers inside a struct, list or map, because
Spark then cannot read the files that were not rewritten.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import (
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    StructType,
    check_names,
    innermost,
    walk_fields,
    without_meta_columns,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.keys.writing import TABLE_VERSION
from hudi_table_services.planning.table.added_columns import is_pandas_index
from hudi_table_services.planning.table.missing_columns import advice_on_adding
from hudi_table_services.planning.table.source_casts import (
    can_be_cast,
    cast_query,
    is_cast_of_times,
    sql_name,
)

ZONE_OPTION = "--timestamps-without-zone"

_WIDTH = {"int": 0, "long": 1, "float": 2, "double": 3}
_AS_TEXT = frozenset({"int", "long"})
_FLOATS = frozenset({"float", "double"})


def evolve_schema(
    table: StructType | None,
    incoming: StructType,
    *,
    table_version: TableVersion = TableVersion.V9,
    fill_missing_with_null: bool = False,
    rows: str = "source",
) -> StructType:
    """Return a schema that can store the rows of the table and the incoming rows.

    The table's columns keep their order, and new columns follow. A column gets the wider of the two types. Numbers
    widen in the order int, long, float, double. If one type is a string and the other one is int or long, the column
    becomes a string. From table version 8 on, decimals become the wider decimal. A column is nullable if it is nullable
    in the table or in the rows. New columns and struct members must be nullable. Inside structs, lists and maps,
    nullable members may be added, and existing members may become nullable, but the incoming types must fit into the
    table's types.

    Args:
        table: columns of the table; None before the first write.
        incoming: columns of the rows to write; meta columns are ignored.
        table_version: version of the table. Versions below 8 (Hudi 0.15) support neither wider decimals nor timestamps
            without time zone.
        fill_missing_with_null: whether a column that the rows lack is filled with null and becomes nullable (Hudi's
            options that `filling_option` returns). If False, such rows are refused, as in Hudi by
            default.
        rows: what a query in an error reads, as `rows_of` returns it.

    Raises:
        InvalidRequestError: the schemas do not match; the message names the column, both types and what to do.
    """
    incoming = without_meta_columns(incoming)
    check_names(incoming)
    merger = _Merger(table_version, fill_missing_with_null, incoming.names, rows)
    if table is None:
        merger.check_new(incoming, "")
        return incoming
    return merger.struct(without_meta_columns(table), incoming, "")


def _path(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name


def _similar(name: str, struct: StructType) -> Field | None:
    return next((field for field in struct.fields if field.name.lower() == name.lower()), None)


def _differs_in_case(path: str, name: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"The table has a column {path!r} and the rows have a column {name!r}: the names differ only in case.",
        hint="Rename the column in the source query.",
    )


def _refuse_missing(table: StructType, incoming: StructType, parent: str) -> None:
    """Refuse rows that lack columns of the table, or members of a struct at the path `parent`.

    Names that differ only in case are not missing: another error names them.
    """
    missing = [
        field
        for field in table.fields
        if incoming.find(field.name) is None and _similar(field.name, incoming) is None
    ]
    if not missing:
        return
    new = [field.name for field in incoming.fields if table.find(field.name) is None]
    named = ", ".join(f"{_path(parent, field.name)!r} ({field.type})" for field in missing)
    first = missing[0]
    raise InvalidRequestError(
        f"The rows have no column {_path(parent, first.name)!r}, which the table has ({first.type})."
        if len(missing) == 1
        else f"The rows lack {len(missing)} columns that the table has: {named}.",
        hint=_advice_on_missing([field.name for field in missing], [] if parent else new),
    )


def _advice_on_missing(missing: Sequence[str], new: Sequence[str]) -> str:
    """Return advice about columns that the rows lack.

    Args:
        new: names of the columns of the rows that the table does not have; empty for members of a struct, because no
            short query renames a member.
    """
    by_lower_case = {name.lower(): name for name in new}
    questions = []
    for name in missing:
        close = difflib.get_close_matches(name.lower(), by_lower_case, n=1)
        if close:
            found = by_lower_case.pop(close[0])
            questions.append(f"Did you mean {found!r}? If so, write {found} AS {name} in the source query. ")
    if not questions and by_lower_case:
        new_name = next(iter(by_lower_case.values()))
        questions.append(
            f"The table has no column {new_name!r}, which the rows have. If this is the new name of {missing[0]!r}, "
            f"write {new_name} AS {missing[0]} in the source query. "
        )
    indexes = [name for name in missing if is_pandas_index(name)]
    cause = ""
    if indexes:
        cause = (
            f"An earlier write added {indexes[0]!r}, which is the index of a pandas DataFrame. If this write was a "
            "mistake and is the newest one, roll it back; otherwise the table keeps the column. "
        )
    return f"{''.join(questions)}{cause}{advice_on_adding(len(missing))}"


@dataclass(frozen=True, slots=True)
class TypeConflict:
    """Names a column whose types in the table and in the rows conflict. The error has this object as `evidence`."""

    column: str


@dataclass(frozen=True, slots=True)
class _Merger:
    version: TableVersion
    fill: bool
    source_names: tuple[str, ...]
    rows: str

    def struct(self, table: StructType, incoming: StructType, path: str) -> StructType:
        if not self.fill:
            _refuse_missing(table, incoming, path)
        kept = [self._kept(field, incoming, path) for field in table.fields]
        added = [
            self._added(field, table, path) for field in incoming.fields if table.find(field.name) is None
        ]
        return StructType((*kept, *added))

    def _kept(self, field: Field, incoming: StructType, parent: str) -> Field:
        path = _path(parent, field.name)
        found = incoming.find(field.name)
        if found is not None:
            merged = self._type(field.type, found.type, path, nested=bool(parent))
            return Field(field.name, merged, field.nullable or found.nullable, field.doc or found.doc)
        similar = _similar(field.name, incoming)
        if similar is not None:
            raise _differs_in_case(path, similar.name)
        return Field(field.name, field.type, True, field.doc)

    def _added(self, field: Field, table: StructType, parent: str) -> Field:
        path = _path(parent, field.name)
        similar = _similar(field.name, table)
        if similar is not None:
            raise _differs_in_case(_path(parent, similar.name), field.name)
        if not field.nullable:
            raise InvalidRequestError(
                f"The new column {path!r} ({field.type}) is not nullable, but rows already in the table have no value.",
                hint="Make the column nullable in the source query.",
            )
        self.check_new(StructType((field,)), parent)
        return field

    def check_new(self, added: StructType, parent: str) -> None:
        """Refuse new columns of a type that Hudi 0.15 cannot read, if the table's version allows Hudi 0.15."""
        if self.version >= TableVersion.V8:
            return
        for path, field in walk_fields(added, parent):
            if innermost(field.type) == TIMESTAMP_NTZ:
                raise InvalidRequestError(
                    f"Column {path!r} is a timestamp without zone, which tables of version {int(self.version)} "
                    "cannot store.",
                    hint=f"Set {ZONE_OPTION}=utc if the values are in UTC, or {ZONE_OPTION}=session if they are in "
                    f"Spark's session time zone, or create a table with {TABLE_VERSION}=8 or {TABLE_VERSION}=9.",
                )

    def _type(self, table: DataType, incoming: DataType, path: str, *, nested: bool) -> DataType:
        merged: DataType | None
        match table, incoming:
            case StructType(), StructType():
                return self.struct(table, incoming, path)
            case ArrayType(), ArrayType():
                element = self._type(table.element, incoming.element, path, nested=True)
                return ArrayType(element, table.contains_null or incoming.contains_null)
            case MapType(), MapType():
                value = self._type(table.value, incoming.value, path, nested=True)
                return MapType(value, table.value_contains_null or incoming.value_contains_null)
            case DecimalType(), DecimalType():
                merged = _wider_decimal(table, incoming)
            case _:
                merged = _wider_primitive(table, incoming)
        if merged is None:
            why = _why_different(table, incoming)
        elif merged != table and nested:
            why = "a type inside a struct, list or map cannot become wider, because Spark could not read the old files"
        elif merged != table and isinstance(merged, DecimalType) and self.version < TableVersion.V8:
            why = f"decimals in a table of version {int(self.version)} cannot become wider"
        else:
            return merged
        raise InvalidRequestError(
            f"Column {path!r} {_both(table, incoming)}{f'; {why}' if why else ''}.",
            hint=self._advice(table, incoming, path, nested=nested),
            evidence=TypeConflict(path),
        )

    def _advice(self, table: DataType, incoming: DataType, path: str, *, nested: bool) -> str:
        if (table, incoming) == (TIMESTAMP, TIMESTAMP_NTZ):
            return f"Set {ZONE_OPTION}=utc or {ZONE_OPTION}=session."
        if nested or not (can_be_cast(incoming, table) or is_cast_of_times(incoming, table)):
            return f"Cast the column to {table} in the source query."
        function, note = "CAST", ""
        if incoming == STRING:
            function, note = (
                "TRY_CAST",
                f" TRY_CAST reads a string that is not a {table} as null, and CAST fails on it.",
            )
        casts = {path: sql_name(table).upper()}
        query = cast_query(self.source_names, casts, function=function, rows=self.rows)
        if isinstance(table, DecimalType) and isinstance(incoming, DecimalType):
            later = f" or create it with {TABLE_VERSION}=9, so that its decimals can become wider"
            note = (
                f" The query fails if a value does not fit into {table}. In this case, load all rows into a new table: "
                f"give it a wider decimal in the source query{later if self.version < TableVersion.V8 else ''}."
            )
        return f"Cast the column in the source query, source_sql (--source-sql), as in: {query}.{note}"


def _wider_primitive(table: DataType, incoming: DataType) -> DataType | None:
    """Return which of two types a write uses for the values of both types; None if it converts neither type."""
    if table == incoming:
        return table
    old, new = str(table), str(incoming)
    if old in _WIDTH and new in _WIDTH:
        return table if _WIDTH[old] > _WIDTH[new] else incoming
    if old == "string" and new in _AS_TEXT:
        return table
    if new == "string" and old in _AS_TEXT:
        return incoming
    return None


def _both(table: DataType, incoming: DataType) -> str:
    """Return the predicate of a sentence about the type of a column in the table and in the rows."""
    if _is_text_for_float(table, incoming):
        old, new = ("text" if each == STRING else f"numbers ({each})" for each in (table, incoming))
        return f"contains {old} in the table and {new} in the rows"
    return f"is {table} in the table and {incoming} in the rows"


def _is_text_for_float(table: DataType, incoming: DataType) -> bool:
    return STRING in (table, incoming) and not _FLOATS.isdisjoint((str(table), str(incoming)))


def _why_different(table: DataType, incoming: DataType) -> str:
    """Return the reason why neither type may replace the other type; empty if the types are reason enough."""
    if _is_text_for_float(table, incoming):
        return ""
    if isinstance(table, DecimalType) and isinstance(incoming, DecimalType):
        return "neither type can store all values of the other type"
    return "a write does not convert values between these types"


def _wider_decimal(table: DecimalType, incoming: DecimalType) -> DecimalType | None:
    for candidate, other in ((table, incoming), (incoming, table)):
        whole_digits = candidate.precision - candidate.scale
        if candidate.scale >= other.scale and whole_digits >= other.precision - other.scale:
            return candidate
    return None
