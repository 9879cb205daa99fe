"""Configuration of record keys and partition paths (org.apache.hudi.keygen, Hudi 0.15 and 1.2)."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.schema import (
    DATE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    Field,
    PrimitiveType,
    StructType,
)
from hudi_table_services.model.table_version import TableVersion

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""Partition value that replaces null and the empty string."""
NULL_KEY_PART = "__null__"
EMPTY_KEY_PART = "__empty__"
_UNSAFE_TYPES = frozenset({"float", "double", "bytes"})
_INTEGERS_AS_DOUBLES = (
    "If the values are integers, cast the column to BIGINT in the source query; pandas stores integers as doubles if a "
    "value is missing, and its type Int64 keeps integers. Otherwise use another column, or cast the column to decimal."
)

_PACKAGE = "org.apache.hudi.keygen."
_CLASS_NAMES = {
    "SIMPLE": "SimpleKeyGenerator",
    "COMPLEX": "ComplexKeyGenerator",
    "NON_PARTITION": "NonpartitionedKeyGenerator",
    "TIMESTAMP": "TimestampBasedKeyGenerator",
    "CUSTOM": "CustomKeyGenerator",
}


class KeyGeneratorType(str, Enum):
    """The values of ``hoodie.table.keygenerator.type`` that this release supports."""

    SIMPLE = "SIMPLE"
    COMPLEX = "COMPLEX"
    NON_PARTITION = "NON_PARTITION"
    TIMESTAMP = "TIMESTAMP"
    CUSTOM = "CUSTOM"

    @property
    def class_name(self) -> str:
        """Return the Java class, the value of ``hoodie.table.keygenerator.class`` in table version 6."""
        return _PACKAGE + _CLASS_NAMES[self.value]

    @classmethod
    def from_class_name(cls, name: str) -> "KeyGeneratorType":
        """Parse a class name. Avro variants (``SimpleAvroKeyGenerator``) write the same keys as the Spark classes.

        Raises:
            UnsupportedTableError: this release does not support the class.
        """
        simple_name = name.strip().removeprefix(_PACKAGE).replace("AvroKeyGenerator", "KeyGenerator")
        for value, class_name in _CLASS_NAMES.items():
            if simple_name == class_name:
                return cls(value)
        raise _unsupported(f"class {name!r}")

    @classmethod
    def from_type_name(cls, name: str) -> "KeyGeneratorType":
        """Parse a name of Hudi's enum, including the ``_AVRO`` variants.

        Raises:
            UnsupportedTableError: this release does not support the type.
        """
        try:
            return cls(name.strip().upper().removesuffix("_AVRO"))
        except ValueError:
            raise _unsupported(f"type {name!r}") from None


def _unsupported(what: str) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"The key generator {what} is not supported.",
        hint=f"Supported types: {', '.join(kind.value for kind in KeyGeneratorType)}.",
    )


class PartitionFieldType(str, Enum):
    """How a partition column becomes a path segment: as its value, or as a formatted point in time."""

    SIMPLE = "SIMPLE"
    TIMESTAMP = "TIMESTAMP"


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A partition column; a dotted name is a member of a struct."""

    name: str
    type: PartitionFieldType = PartitionFieldType.SIMPLE


class TimestampType(str, Enum):
    """``hoodie.keygen.timebased.timestamp.type``: meaning of the numbers or strings in the column."""

    UNIX_TIMESTAMP = "UNIX_TIMESTAMP"
    EPOCHMILLISECONDS = "EPOCHMILLISECONDS"
    EPOCHMICROSECONDS = "EPOCHMICROSECONDS"
    DATE_STRING = "DATE_STRING"
    MIXED = "MIXED"
    SCALAR = "SCALAR"

    @property
    def reads_text(self) -> bool:
        return self in (TimestampType.DATE_STRING, TimestampType.MIXED)


TIME_UNITS_US = {
    "MICROSECONDS": 1,
    "MILLISECONDS": 1_000,
    "SECONDS": 1_000_000,
    "MINUTES": 60_000_000,
    "HOURS": 3_600_000_000,
    "DAYS": 86_400_000_000,
}
"""``hoodie.keygen.timebased.timestamp.scalar.time.unit``: maps the name of each unit to its microseconds."""

_FIXED_UNITS = {
    TimestampType.UNIX_TIMESTAMP: "SECONDS",
    TimestampType.EPOCHMILLISECONDS: "MILLISECONDS",
    TimestampType.EPOCHMICROSECONDS: "MICROSECONDS",
}
_OPTION = "hoodie.keygen.timebased."


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampKeyGenOptions:
    """Options ``hoodie.keygen.timebased.*``.

    Attributes:
        timestamp_type: meaning of the values in the column.
        scalar_unit: a key of `TIME_UNITS_US`; used for type SCALAR only.
        output_format: Joda pattern of the path segment.
        input_formats: Joda patterns for strings. The patterns are tried in this order.
        input_time_zone: time zone of strings without an offset. None means `KeyGeneratorConfig.default_time_zone`.
        output_time_zone: time zone of the path segment. None means the zone in the string, or the default zone if the
            string contains no zone.
    """

    timestamp_type: TimestampType
    output_format: str
    scalar_unit: str = "SECONDS"
    input_formats: tuple[str, ...] = ()
    input_time_zone: str | None = None
    output_time_zone: str | None = None

    @property
    def unit_us(self) -> int | None:
        """Return the unit of the column's numbers, in microseconds.

        Return None for types whose values are strings.
        """
        if self.timestamp_type.reads_text:
            return None
        return TIME_UNITS_US[_FIXED_UNITS.get(self.timestamp_type, self.scalar_unit)]

    def reads(self, column_type: DataType) -> bool:
        """Whether the timestamp type fits the type of a column. If not, Hudi writes a wrong date."""
        if column_type == STRING:
            return self.unit_us is None and bool(self.input_formats)
        if column_type in (INT, LONG):
            return self.unit_us is not None
        if column_type == DATE:
            return self.unit_us == TIME_UNITS_US["DAYS"]
        return column_type in (TIMESTAMP, TIMESTAMP_NTZ) and self.unit_us == 1

    @property
    def properties(self) -> dict[str, str]:
        """Return these options as entries of ``hoodie.properties``."""
        made = {
            f"{_OPTION}timestamp.type": self.timestamp_type.value,
            f"{_OPTION}output.dateformat": self.output_format,
            f"{_OPTION}input.dateformat": ",".join(self.input_formats),
            f"{_OPTION}input.timezone": self.input_time_zone or "",
            f"{_OPTION}output.timezone": self.output_time_zone or "",
        }
        if self.timestamp_type is TimestampType.SCALAR:
            made[f"{_OPTION}timestamp.scalar.time.unit"] = self.scalar_unit
        return {key: value for key, value in made.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyGeneratorConfig:
    """All settings that determine record keys and partition paths.

    Attributes:
        record_key_fields: columns of the key, at least one; a dotted name is a member of a struct.
        partition_fields: partition columns; empty for a table without partitions.
        hive_style: whether path segments have the form ``column=value``.
        url_encode: whether special characters of a value are written as ``%XX``. If not, a ``/`` creates sub-folders.
        encodes_single_key_name: whether a COMPLEX generator with one field writes ``column:value`` (table version 9,
            and Hudi up to 0.14.0) instead of the bare value (0.14.1 to 1.0.2).
        consistent_logical_timestamp: whether timestamps are written as strings in `default_time_zone`. If not, they are
            written as microseconds.
        default_time_zone: the zone that Hudi reads from its JVM, ``TimeZone.getDefault()``.
    """

    type: KeyGeneratorType
    record_key_fields: tuple[str, ...]
    partition_fields: tuple[PartitionField, ...] = ()
    hive_style: bool = False
    url_encode: bool = False
    timestamp: TimestampKeyGenOptions | None = None
    encodes_single_key_name: bool = False
    consistent_logical_timestamp: bool = False
    default_time_zone: str = "UTC"

    @property
    def names_key_fields(self) -> bool:
        """Whether the record key has the form ``column:value,…`` instead of one bare value."""
        return len(self.record_key_fields) > 1 or self.encodes_single_key_name

    def table_properties(self, version: TableVersion) -> dict[str, str]:
        """Return these settings as properties of a new table. Version 6 names the class, later versions the type."""
        if version >= TableVersion.V8:
            made = {"hoodie.table.keygenerator.type": self.type.value}
        else:
            made = {"hoodie.table.keygenerator.class": self.type.class_name}
        made["hoodie.table.recordkey.fields"] = ",".join(self.record_key_fields)
        if self.partition_fields:
            made["hoodie.table.partition.fields"] = self._partition_fields_property
        made["hoodie.datasource.write.hive_style_partitioning"] = str(self.hive_style).lower()
        made["hoodie.datasource.write.partitionpath.urlencode"] = str(self.url_encode).lower()
        return {**made, **(self.timestamp.properties if self.timestamp else {})}

    def reads_times_of(self, column_type: DataType) -> bool:
        """Whether a partition column of this type can become a formatted time.

        If `timestamp` is None, only a timestamp column can, and only with `consistent_logical_timestamp`.
        """
        is_instant = self.consistent_logical_timestamp and column_type == TIMESTAMP
        return is_instant or (self.timestamp is not None and self.timestamp.reads(column_type))

    @property
    def _partition_fields_property(self) -> str:
        if self.type is KeyGeneratorType.CUSTOM:
            return ",".join(f"{item.name}:{item.type.value}" for item in self.partition_fields)
        return ",".join(item.name for item in self.partition_fields)


def key_column(schema: StructType, path: str, role: str) -> Field:
    """Return a key or partition column.

    Args:
        path: name of the column, or dotted path of a struct member.
        role: ``record key`` or ``partition``, for the error.

    Raises:
        InvalidRequestError: the column is missing, or has an unsupported type. Releases of Hudi and Java convert
            values of the types float, double and binary to different strings; struct, list and map have no string form.
    """
    field = schema.at_path(path)
    simple = isinstance(field.type, DecimalType) or (
        isinstance(field.type, PrimitiveType) and field.type.name not in _UNSAFE_TYPES
    )
    if not simple:
        raise InvalidRequestError(
            f"The {role} column {path!r} has the type {field.type}; releases of Hudi and Java convert its values "
            "to different strings.",
            hint=_INTEGERS_AS_DOUBLES
            if field.type in (PrimitiveType("double"), PrimitiveType("float"))
            else "Use a column of a different type, or convert the column to text in the source query.",
        )
    return field


def check_key_types(config: KeyGeneratorConfig, schema: StructType, untyped: Collection[str] = ()) -> None:
    """Check the types of all key and partition columns, with the error of `key_column`.

    Args:
        untyped: names of the columns whose types are not known. The function leaves out these columns.
    """
    roles = [(name, "record key") for name in config.record_key_fields]
    roles += [(each.name, "partition") for each in config.partition_fields]
    for path, role in roles:
        if path.split(".")[0] not in untyped:
            key_column(schema, path, role)
