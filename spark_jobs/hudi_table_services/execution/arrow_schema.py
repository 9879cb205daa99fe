"""Convert table schemas to Arrow schemas, and rows to these schemas (format section 5.3; read by Hudi 0.15 and 1.2).

The physical types must match exactly. Otherwise Hudi corrupts values without an error when it merges a file: lists
whose element is not named ``element`` become null, decimals stored as integers are multiplied by a power of ten, and
timestamps in milliseconds become times in 1970.
"""

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidDataError, InvalidRequestError
from hudi_table_services.model.schema import (
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
    with_meta_columns,
    without_meta_columns,
)

_SPARK_NAMES = {
    "boolean": "boolean",
    "byte": "int",
    "short": "int",
    "integer": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}
_SPARK_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_ARROW_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def schema_from_spark_json(json_value: Mapping[str, Any]) -> StructType:
    """Return the columns of a Spark ``StructType.jsonValue()``. Like Hudi, the function ignores meta columns.

    The types byte and short become int, the smallest integer of the format. A column comment becomes the Avro doc.

    Raises:
        InvalidRequestError: a column has a type that a Hudi table cannot store; the message names the column.
    """
    return without_meta_columns(_spark_struct(json_value, ""))


def _spark_struct(node: Mapping[str, Any], parent: str) -> StructType:
    return StructType(tuple(_spark_field(field, parent) for field in node["fields"]))


def _spark_field(node: Mapping[str, Any], parent: str) -> Field:
    path = f"{parent}.{node['name']}" if parent else node["name"]
    comment = (node.get("metadata") or {}).get("comment", "")
    return Field(node["name"], _spark_type(node["type"], path), bool(node["nullable"]), comment)


def _spark_type(node: Any, path: str) -> DataType:
    if isinstance(node, str):
        if node in _SPARK_NAMES:
            return PrimitiveType(_SPARK_NAMES[node])
        if decimal := _SPARK_DECIMAL.fullmatch(node):
            return DecimalType(int(decimal[1]), int(decimal[2]))
        raise _unsupported(path, node)
    match node["type"]:
        case "struct":
            return _spark_struct(node, path)
        case "array":
            return ArrayType(_spark_type(node["elementType"], path), bool(node["containsNull"]))
        case "map" if node["keyType"] == "string":
            return MapType(_spark_type(node["valueType"], path), bool(node["valueContainsNull"]))
        case "map":
            raise _unsupported(path, f"map with keys of type {node['keyType']}")
    raise _unsupported(path, str(node["type"]))


def _unsupported(path: str, type_name: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"Column {path!r} has the type {type_name}, which a Hudi table cannot store.",
        hint="Cast the column in the source query.",
    )


def arrow_schema(schema: StructType, *, with_meta_fields: bool) -> pa.Schema:
    """Return the Arrow schema for Parquet files that Hudi merges correctly.

    Nested types have the names that the Parquet specification requires, and decimals have a fixed number of bytes.
    """
    columns = with_meta_columns(schema) if with_meta_fields else without_meta_columns(schema)
    return pa.schema([_arrow_field(field) for field in columns.fields])


def arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type of one column."""
    match data_type:
        case PrimitiveType():
            return _ARROW_TYPES[data_type.name]
        case DecimalType():
            return pa.decimal128(data_type.precision, data_type.scale)
        case ArrayType():
            return pa.list_(pa.field("element", arrow_type(data_type.element), data_type.contains_null))
        case MapType():
            value = pa.field("value", arrow_type(data_type.value), data_type.value_contains_null)
            return pa.map_(pa.field("key", pa.string(), nullable=False), value)
        case StructType():
            return pa.struct([_arrow_field(field) for field in data_type.fields])


def _arrow_field(field: Field) -> pa.Field:
    return pa.field(field.name, arrow_type(field.type), field.nullable)


def conform(table: pa.Table, target: pa.Schema) -> pa.Table:
    """Convert the rows to exactly the columns, order and types of the target.

    Columns are matched by case-sensitive name, as in Avro. A column that only the target has is filled with null, and a
    column that only the rows have is dropped. Columns of equal type are not copied. If the types differ only in names
    or nullability of nested parts, the function copies no values.

    Raises:
        InvalidDataError: a column has a null that the target does not allow, or a value that does not fit its type.
        InvalidRequestError: there is no safe conversion between the types.
    """
    columns = [_conformed_column(table, field) for field in target]
    return pa.Table.from_arrays(columns, schema=target)


def _conformed_column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    position = table.schema.get_field_index(field.name)
    if position < 0:
        return _nulls(field, table.num_rows)
    column = table.column(position)
    if column.type != field.type:
        chunks = [_conformed(chunk, field.type, field.name) for chunk in column.chunks]
        column = pa.chunked_array(chunks, type=field.type)
    if not field.nullable and column.null_count:
        raise _null_refused(field.name, column.null_count)
    return column


def _nulls(field: pa.Field, count: int) -> pa.ChunkedArray:
    if not field.nullable and count:
        raise _null_refused(field.name, count)
    return pa.chunked_array([pa.nulls(count, field.type)])


def _conformed(array: pa.Array, target: pa.DataType, path: str) -> pa.Array:
    if array.type == target:
        return array
    if isinstance(array, pa.ExtensionArray):
        return _conformed(array.storage, target, path)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target)
    if pa.types.is_struct(target) and pa.types.is_struct(array.type):
        return _conformed_struct(array, target, path)
    if pa.types.is_map(target) and pa.types.is_map(array.type):
        return _conformed_map(array, target, path)
    if pa.types.is_list(target) and pa.types.is_list(array.type):
        values = _conformed_member(array.values, target.value_field, path)
        return _with_children(array, target, values)
    return _cast(array, target, path)


def _conformed_struct(array: pa.StructArray, target: pa.StructType, path: str) -> pa.Array:
    members = []
    for field in target:
        position = array.type.get_field_index(field.name)
        if position < 0:
            members.append(pa.nulls(len(array), field.type))
        else:
            members.append(_conformed_member(array.field(position), field, f"{path}.{field.name}", array))
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(members, fields=list(target), mask=mask)


def _conformed_map(array: pa.MapArray, target: pa.MapType, path: str) -> pa.Array:
    fields = [target.key_field, target.item_field]
    keys = _conformed_member(array.keys, target.key_field, path)
    items = _conformed_member(array.items, target.item_field, path)
    return _with_children(array, target, pa.StructArray.from_arrays([keys, items], fields=fields))


def _conformed_member(
    array: pa.Array, field: pa.Field, path: str, parent: pa.Array | None = None
) -> pa.Array:
    converted = _conformed(array, field.type, path)
    if not field.nullable and converted.null_count:
        # A null struct has null members even if the members are not nullable, so count only nulls in structs that are
        # not null.
        counted = converted if parent is None else converted.filter(parent.is_valid())
        if counted.null_count:
            raise _null_refused(path, counted.null_count)
    return converted


def _with_children(array: pa.Array, target: pa.DataType, child: pa.Array) -> pa.Array:
    """Return a list or map array with the offsets and nulls of `array` and the values of `child`. Copy no buffer."""
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(target, len(array), buffers, array.null_count, array.offset, [child])


def _cast(array: pa.Array, target: pa.DataType, path: str) -> pa.Array:
    # As in Java, an integer without an exact floating point equivalent is rounded instead of refused.
    exact = not (pa.types.is_integer(array.type) and pa.types.is_floating(target))
    try:
        return pc.cast(array, target, safe=exact)
    except pa.ArrowInvalid as error:
        raise InvalidDataError(
            f"Column {path!r}: a value of type {array.type} does not fit {target}: {error}"
        ) from error
    except pa.ArrowNotImplementedError as error:
        raise InvalidRequestError(
            f"Column {path!r}: type {array.type} cannot be converted to {target}.",
            hint="Cast the column in the source query.",
        ) from error


def _null_refused(path: str, count: int) -> InvalidDataError:
    return InvalidDataError(
        f"Column {path!r} is not nullable, but is null in {counted(count, 'row')}.",
        hint="Remove these rows, or fill the column in the source query.",
    )


def check_list_elements(table: pa.Table) -> None:
    """Refuse nulls inside lists, because Hudi with its default list layout cannot merge a file with such nulls.

    Raises:
        InvalidDataError: a list has a null; the message names the column and the number of null elements.
    """
    for field, column in zip(table.schema, table.columns, strict=True):
        for chunk in column.chunks:
            _check_elements(chunk, field.name)


def _check_elements(array: pa.Array, path: str) -> None:
    if pa.types.is_struct(array.type):
        for position, member in enumerate(array.type):
            _check_elements(array.field(position), f"{path}.{member.name}")
    elif pa.types.is_map(array.type):
        _check_elements(array.items, path)
    elif pa.types.is_list(array.type):
        # The child array also contains values of rows outside the slice; flatten() omits those values.
        elements = array.flatten() if array.values.null_count else array.values
        if elements.null_count:
            raise InvalidDataError(
                f"Column {path!r} has lists with {counted(elements.null_count, 'null element')}.",
                hint="Remove the nulls in the source query, for example with filter(list, x -> x is not null).",
            )
        _check_elements(elements, path)
