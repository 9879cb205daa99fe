"""Decide which timestamps without time zone a write stores as timestamps with time zone.

Parquet files of pandas and pyarrow usually contain timestamps without time zone. Hudi 0.15, and so tables of version 6,
have no such type. Newer tables have such a type, but hudi-rs 0.5 cannot read it.
"""

from dataclasses import dataclass

from hudi_table_services.contract.writing import TimestampsWithoutZone
from hudi_table_services.model.schema import (
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    Field,
    MapType,
    StructType,
    innermost,
    walk_fields,
)
from hudi_table_services.model.table_version import TableVersion


@dataclass(frozen=True, slots=True)
class ZonedColumns:
    """Columns of a batch, after timestamps without time zone became timestamps with time zone.

    Attributes:
        schema: all columns of the batch, with the new types.
        paths: dotted paths of the columns and struct members with a new type.
        is_chosen: whether the request chose the time zone; if not, the values are read as UTC.
    """

    schema: StructType
    paths: tuple[str, ...] = ()
    is_chosen: bool = False


def with_time_zones(
    batch: StructType, table: StructType | None, version: TableVersion, choice: TimestampsWithoutZone | None
) -> ZonedColumns:
    """Replace the types of timestamps without time zone, except in columns that the table stores without time zone.

    Args:
        table: columns of the table; None before the first write.
        choice: choice of the request. None replaces the types only if the version of the table has no timestamps
            without time zone.
    """
    replaces = choice is not TimestampsWithoutZone.REFUSE and (
        choice is not None or version < TableVersion.V8
    )
    if not replaces:
        return ZonedColumns(batch)
    zoned = _struct(batch, table)
    before = walk_fields(batch)
    paths = tuple(
        path for (path, old), (_, new) in zip(before, walk_fields(zoned), strict=True) if old != new
    )
    leaves = tuple(path for path in paths if not any(other.startswith(f"{path}.") for other in paths))
    return ZonedColumns(zoned, leaves, choice is not None)


def warn_of_columns_without_zone(new_table: StructType) -> tuple[str, ...]:
    """Return a sentence that names the columns of a new table that hudi-rs 0.5 cannot read; empty if there are none."""
    paths = [path for path, field in walk_fields(new_table) if innermost(field.type) == TIMESTAMP_NTZ]
    if not paths:
        return ()
    what, types = ("column", "its type is") if len(paths) == 1 else ("columns", "their type is")
    return (
        f"hudi-rs 0.5, and so pandas and DuckDB through it, cannot read the {what} {', '.join(paths)} of the new "
        f"table: {types} timestamp without time zone. To store times in UTC, create the table with "
        "timestamps_without_zone (--timestamps-without-zone) set to utc.",
    )


def _struct(batch: StructType, table: StructType | None) -> StructType:
    fields = []
    for field in batch.fields:
        stored = table.find(field.name) if table is not None else None
        zoned = _type(field.type, stored.type if stored is not None else None)
        fields.append(Field(field.name, zoned, field.nullable, field.doc))
    return StructType(tuple(fields))


def _type(batch: DataType, stored: DataType | None) -> DataType:
    if batch == TIMESTAMP_NTZ:
        return batch if stored == TIMESTAMP_NTZ else TIMESTAMP
    match batch:
        case StructType():
            return _struct(batch, stored if isinstance(stored, StructType) else None)
        case ArrayType():
            inner = stored.element if isinstance(stored, ArrayType) else None
            return ArrayType(_type(batch.element, inner), batch.contains_null)
        case MapType():
            inner = stored.value if isinstance(stored, MapType) else None
            return MapType(_type(batch.value, inner), batch.value_contains_null)
        case _:
            return batch
