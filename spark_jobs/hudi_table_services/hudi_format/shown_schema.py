"""List the columns of a stored Avro schema for display.

If the schema has a type that writes do not support, all columns are listed with the Avro names of their types.
"""

import json
from typing import Any

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.model.overview.table_overview import SchemaColumn
from hudi_table_services.model.schema import META_COLUMNS


def shown_columns(schema_json: str) -> tuple[SchemaColumn, ...]:
    """Return the top-level columns in order, without meta columns.

    Raises:
        MalformedMetadataError: the text is not an Avro record.
    """
    try:
        fields = from_avro_json(schema_json).fields
    except UnsupportedTableError:
        return _avro_columns(schema_json)
    return tuple(
        SchemaColumn(name=field.name, type=str(field.type), nullable=field.nullable, comment=field.doc)
        for field in fields
    )


def _avro_columns(schema_json: str) -> tuple[SchemaColumn, ...]:
    try:
        return tuple(
            SchemaColumn(
                name=str(field["name"]),
                type=_type_name(field["type"]),
                nullable=isinstance(field["type"], list) and "null" in field["type"],
                comment=str(field.get("doc") or ""),
            )
            for field in json.loads(schema_json)["fields"]
            if field["name"] not in META_COLUMNS
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedMetadataError(f"The table schema is not an Avro record: {error!r}.") from error


def _type_name(node: Any) -> str:
    if isinstance(node, list):
        return " or ".join(_type_name(each) for each in node if each != "null")
    if isinstance(node, dict):
        return str(node.get("logicalType") or _type_name(node["type"]))
    return str(node)
