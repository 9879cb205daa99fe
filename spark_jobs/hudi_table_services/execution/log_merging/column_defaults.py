"""Find the default values of columns, which a merge with `Fill.DEFAULTS` treats like missing values."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.execution.arrow_schema import arrow_type
from hudi_table_services.model.merging.merge_rule import Fill, MergeRule
from hudi_table_services.model.schema import META_COLUMNS, StructType


def column_defaults(rule: MergeRule, schema_json: str, schema: StructType) -> Mapping[str, pa.Scalar]:
    """Return the default of each column whose default is not null, by column name; empty if the rule needs no defaults.

    Args:
        schema_json: Avro schema of the table.
        schema: the same schema.

    Raises:
        UnsupportedTableError: a default has a type that this release does not compare with values.
    """
    if rule.fill is not Fill.DEFAULTS:
        return {}
    node: Any = json.loads(schema_json)
    given = {field["name"]: field.get("default") for field in node["fields"]}
    return {
        name: _scalar(name, default, schema)
        for name, default in given.items()
        if default is not None and name not in META_COLUMNS
    }


def _scalar(name: str, default: Any, schema: StructType) -> pa.Scalar:
    column_type = arrow_type(schema.field(name).type)
    is_plain = isinstance(default, bool | int | float | str)
    is_fitting = pa.types.is_string(column_type) or (
        pa.types.is_primitive(column_type) and not pa.types.is_temporal(column_type)
    )
    if not is_plain or not is_fitting:
        raise UnsupportedTableError(
            f"The column {name!r} has the default {default!r:.80} of the type {column_type}, with which this release "
            "does not merge partial updates.",
            hint="Compact the table with Hudi.",
        )
    return pa.scalar(default, column_type)
