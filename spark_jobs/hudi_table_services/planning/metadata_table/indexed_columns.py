"""Find the columns with statistics, and convert their values to the stored form (HoodieTableMetadataUtil, Hudi 1.2).

Index version V1 (table versions 6 and 8) has record types for dates and for decimals. Index version V2 (table version
9) stores dates as numbers and decimals as bytes, together with the type of the column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hudi_table_services.errors import CorruptTableError, InvalidRequestError
from hudi_table_services.hudi_format.metadata_table.stat_values import (
    decimal_bytes,
    decimal_of_bytes,
    decimal_wrapper,
)
from hudi_table_services.model.metadata_table import (
    IndexDefinition,
    RangeValue,
    StatKind,
    StatValue,
    ValueType,
    ValueTypeId,
)
from hudi_table_services.model.schema import (
    DataType,
    DecimalType,
    Field,
    PrimitiveType,
    StructType,
    with_meta_columns,
)

_V2 = "V2"
# Records of index version V1 store decimals with 15 digits before and 15 digits after the point.
_DIGITS_OF_V1 = 15
_LIMIT_OF_V1 = 10**_DIGITS_OF_V1
_STORED_AS: Mapping[str, tuple[StatKind, ValueTypeId]] = {
    "boolean": (StatKind.BOOLEAN, ValueTypeId.BOOLEAN),
    "int": (StatKind.INT, ValueTypeId.INT),
    "long": (StatKind.LONG, ValueTypeId.LONG),
    "float": (StatKind.FLOAT, ValueTypeId.FLOAT),
    "double": (StatKind.DOUBLE, ValueTypeId.DOUBLE),
    "string": (StatKind.STRING, ValueTypeId.STRING),
    "bytes": (StatKind.BYTES, ValueTypeId.BYTES),
    "date": (StatKind.INT, ValueTypeId.DATE),
    "timestamp": (StatKind.LONG, ValueTypeId.TIMESTAMP_MICROS),
    "timestamp_ntz": (StatKind.LONG, ValueTypeId.LOCAL_TIMESTAMP_MICROS),
}
_DATE = "date"
_WIDENED_FROM: Mapping[StatKind, tuple[StatKind, ...]] = {
    StatKind.LONG: (StatKind.INT,),
    StatKind.FLOAT: (StatKind.INT, StatKind.LONG),
    StatKind.DOUBLE: (StatKind.INT, StatKind.LONG, StatKind.FLOAT),
    StatKind.DATE: (StatKind.INT,),
    StatKind.DECIMAL: (StatKind.BYTES,),
}
"""The kinds that a stored value may have besides the kind of its column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedColumn:
    """A column with statistics.

    Attributes:
        name: name of the column; a dotted path for a member of a struct.
        kind: record type that stores the smallest and the greatest value.
        value_type: type of the column in the records; None in index version V1.
    """

    name: str
    data_type: PrimitiveType | DecimalType
    kind: StatKind
    value_type: ValueType | None

    @property
    def is_floating(self) -> bool:
        return self.kind in (StatKind.FLOAT, StatKind.DOUBLE)

    def can_store(self, value: RangeValue) -> bool:
        """Whether the metadata table can store the value. A decimal can be too long for index version V1."""
        if not isinstance(value, Decimal) or self.value_type is not None:
            return True
        return abs(value) < _LIMIT_OF_V1 and int(value.as_tuple().exponent) >= -_DIGITS_OF_V1

    def stored(self, value: RangeValue) -> StatValue:
        """Convert a value to the form in which the metadata table stores it.

        Raises:
            CorruptTableError: the file has a decimal where the table has another type.
        """
        if not isinstance(value, Decimal):
            return StatValue(self.kind, value)
        if not isinstance(self.data_type, DecimalType):
            raise self._other_type("decimal")
        if self.value_type is None:
            return decimal_wrapper(value)
        return StatValue(self.kind, decimal_bytes(value, self.data_type.scale))

    def converted(self, value: StatValue, additional_info: str | None) -> StatValue:
        """Convert a stored value to the current type of the column, which may be wider than the type of the value.

        The method also accepts the forms to which Hudi 0.15 converts dates and decimals when it compacts the metadata
        table.

        Args:
            additional_info: precision and scale of a stored decimal, in index version V2.

        Raises:
            CorruptTableError: the value has neither the column's type nor a narrower type.
        """
        if value.kind is not self.kind and value.kind not in _WIDENED_FROM.get(self.kind, ()):
            raise self._other_type(value.kind.value)
        if isinstance(self.data_type, DecimalType) and additional_info and isinstance(value.value, bytes):
            scale = int(additional_info.rpartition(",")[2])
            return self.stored(decimal_of_bytes(value.value, scale))
        return StatValue(self.kind, float(value.value) if self.is_floating else value.value)  # type: ignore[arg-type]

    def _other_type(self, found: str) -> CorruptTableError:
        return CorruptTableError(
            f"The statistics of column {self.name!r} have a {found}, but the column is {self.data_type}.",
            hint="Build this index again with rebuild_metadata_table.py --partitions column_stats.",
        )

    def ordered(self, value: StatValue) -> tuple[Any, StatValue]:
        """Return a pair of a sort key and the value. The sort keys have the order of the column's values."""
        stored = value.value
        if isinstance(self.data_type, DecimalType) and isinstance(stored, bytes):
            return int.from_bytes(stored, "big", signed=True), value
        return stored.encode() if isinstance(stored, str) else stored, value


def indexed_columns(schema: StructType, definition: IndexDefinition | None) -> tuple[IndexedColumn, ...]:
    """Return the columns with statistics in the order of the definition. Without a definition, use the schema's order.

    As in Hudi, lists, maps and structs have no statistics. A column of the definition that the table no longer has is
    left out.

    Args:
        schema: columns of the table, with or without meta columns.
        definition: definition of the index `column_stats`; None in table version 6, which indexes every column.
    """
    columns = with_meta_columns(schema)
    names = columns.names if definition is None else definition.source_fields
    has_value_types = definition is not None and definition.version == _V2
    fields = (field for name in names if (field := _find(columns, name)) is not None)
    indexed = (_indexed(field.name, field.type, has_value_types) for field in fields)
    return tuple(column for column in indexed if column is not None)


def _find(columns: StructType, path: str) -> Field | None:
    try:
        return columns.at_path(path)
    except InvalidRequestError:
        return None


def _indexed(name: str, data_type: DataType, has_value_types: bool) -> IndexedColumn | None:
    match data_type:
        case PrimitiveType():
            kind, type_id = _STORED_AS[data_type.name]
            if data_type.name == _DATE and not has_value_types:
                kind = StatKind.DATE
            value_type = ValueType(type_id) if has_value_types else None
        case DecimalType() if has_value_types:
            kind = StatKind.BYTES
            value_type = ValueType(ValueTypeId.DECIMAL, f"{data_type.precision},{data_type.scale}")
        case DecimalType():
            kind, value_type = StatKind.DECIMAL, None
        case _:
            return None
    return IndexedColumn(name=name, data_type=data_type, kind=kind, value_type=value_type)
