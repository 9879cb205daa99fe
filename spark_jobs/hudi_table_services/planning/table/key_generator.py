"""Choose the key generator and its settings: from table properties first, then options, then Hudi's inference.

This module follows KeyGenUtils.inferKeyGeneratorType and HoodieWriterUtils.validateTableConfig (Hudi 0.15 and 1.2).
"""

import re
import zoneinfo
from collections.abc import Mapping, Sequence

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.key_generator import (
    TIME_UNITS_US,
    KeyGeneratorConfig,
    KeyGeneratorType,
    PartitionField,
    PartitionFieldType,
    TimestampKeyGenOptions,
    TimestampType,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.time_pattern import input_expression, parse_output_pattern
from hudi_table_services.options.keys.key_generation import (
    CONSISTENT_TIMESTAMPS,
    KEY_GENERATOR_CLASS,
    KEY_GENERATOR_TYPE,
    NEW_KEY_ENCODING,
    PARTITION_PATH,
    RECORD_KEY,
)
from hudi_table_services.options.keys.writing import TABLE_VERSION
from hudi_table_services.planning.table.partition_units import with_partitions_of_table

RECORD_KEY_OPTION = RECORD_KEY.key
PARTITION_OPTION = PARTITION_PATH.key
CLASS_OPTION = KEY_GENERATOR_CLASS.key
TYPE_OPTION = KEY_GENERATOR_TYPE.key
HIVE_STYLE_OPTION = "hoodie.datasource.write.hive_style_partitioning"
URL_ENCODE_OPTION = "hoodie.datasource.write.partitionpath.urlencode"
CONSISTENT_TIMESTAMP_OPTION = CONSISTENT_TIMESTAMPS.key
NEW_ENCODING_OPTION = NEW_KEY_ENCODING.key
TABLE_VERSION_OPTION = TABLE_VERSION.key
_FLAGS = {RECORD_KEY_OPTION: "--record-key", PARTITION_OPTION: "--partition-by"}
"""Maps options to the flags that set them. In Airflow, messages name the argument instead of the flag."""

_TIME_PREFIXES = ("hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased.")
_OFFSET_ZONE = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")


def key_generator_config(
    table: TableConfig | None,
    hoodie_options: Mapping[str, str],
    *,
    existing_key: str | None = None,
    default_time_zone: str = "UTC",
) -> KeyGeneratorConfig:
    """Return the key generator settings of a write.

    Args:
        table: properties of the table; None if the write creates the table.
        hoodie_options: ``hoodie.*`` options of the write.
        existing_key: any ``_hoodie_record_key`` of the table, ``""`` if the table has no rows. Needed only if
            `depends_on_existing_key` returns True: a table of version 6 or 8 with a COMPLEX key of one column stores
            the key as ``value`` or as ``column:value``, depending on the release that wrote the table.
        default_time_zone: default time zone of the JVM in which Hudi would run.

    Raises:
        InvalidRequestError: there is no record key, an option contradicts the table, or options contradict each other.
        UnsupportedTableError: the key generator is not supported.
    """
    hoodie_options = with_partitions_of_table(table, hoodie_options)
    record_key = _record_key_fields(table, hoodie_options)
    partition_text = _partition_text(table, hoodie_options)
    kind = _type(table, hoodie_options, record_key, partition_text)
    partition_fields = _partition_fields(kind, partition_text)
    timestamp = None
    if any(item.type is PartitionFieldType.TIMESTAMP for item in partition_fields):
        times = [item.name for item in partition_fields if item.type is PartitionFieldType.TIMESTAMP]
        timestamp = _timestamp_options(table, hoodie_options, times)
    _check_field_counts(kind, record_key, partition_fields)
    return KeyGeneratorConfig(
        type=kind,
        record_key_fields=record_key,
        partition_fields=partition_fields,
        hive_style=_flag(table, hoodie_options, HIVE_STYLE_OPTION),
        url_encode=_flag(table, hoodie_options, URL_ENCODE_OPTION),
        timestamp=timestamp,
        encodes_single_key_name=_encodes_single_key_name(
            table, hoodie_options, kind, record_key, existing_key
        ),
        consistent_logical_timestamp=_is_true(hoodie_options.get(CONSISTENT_TIMESTAMP_OPTION, "false")),
        default_time_zone=_time_zone(default_time_zone) or "UTC",
    )


def _fields(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _is_true(text: str) -> bool:
    return text.strip().lower() == "true"


def _conflict(option: str, wanted: str, stored: str) -> InvalidRequestError:
    name = f"{_FLAGS[option]} ({option})" if option in _FLAGS else f"Option {option}"
    is_flat = option == PARTITION_OPTION and not stored
    created = "is not partitioned" if is_flat else f"was created with {stored!r}"
    return InvalidRequestError(
        f"{name} is {wanted!r}, but the table {created}.",
        hint=f"Leave out {_FLAGS.get(option, 'the option')}: the property of the table applies. To change the "
        "property, write a new table.",
    )


def _record_key_fields(table: TableConfig | None, options: Mapping[str, str]) -> tuple[str, ...]:
    wanted = _fields(options.get(RECORD_KEY_OPTION))
    stored = table.record_key_fields if table else ()
    if stored and wanted and wanted != stored:
        raise _conflict(RECORD_KEY_OPTION, ",".join(wanted), ",".join(stored))
    fields = stored or wanted
    if table is not None and not stored:
        raise UnsupportedTableError(
            "The table has no hoodie.table.recordkey.fields: its keys are generated, not built from columns.",
            hint="Write the table with the program that created it.",
        )
    if not fields:
        raise InvalidRequestError(
            "No record key is given.",
            hint=f"Name at least one column that identifies a row: set --record-key ({RECORD_KEY_OPTION}).",
        )
    if len(set(fields)) < len(fields):
        raise InvalidRequestError(f"The record key {','.join(fields)!r} names a column twice.")
    return fields


def _partition_text(table: TableConfig | None, options: Mapping[str, str]) -> str:
    wanted = options.get(PARTITION_OPTION)
    if table is None:
        return wanted or ""
    stored = table.get("hoodie.table.partition.fields") or ""
    if wanted is None:
        return stored
    stored_items, wanted_items = _fields(stored), _fields(wanted)
    if wanted_items == stored_items:
        return stored
    # Hudi 0.15 stores the columns of a custom key generator without types; the option supplies the types.
    if not any(":" in item for item in stored_items) and _names(wanted_items) == stored_items:
        return wanted
    if _names(stored_items) == wanted_items:
        return stored
    raise _conflict(PARTITION_OPTION, wanted, stored)


def _names(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(item.split(":")[0] for item in items)


def _type(
    table: TableConfig | None, options: Mapping[str, str], record_key: tuple[str, ...], partition_text: str
) -> KeyGeneratorType:
    stored = _named_type(
        table.get("hoodie.table.keygenerator.type") if table else None,
        table.get("hoodie.table.keygenerator.class") if table else None,
    )
    wanted = _named_type(options.get(TYPE_OPTION), options.get(CLASS_OPTION))
    if stored and wanted and stored is not wanted:
        option = CLASS_OPTION if options.get(CLASS_OPTION) else TYPE_OPTION
        raise _conflict(option, wanted.value, stored.value)
    return stored or wanted or infer_key_generator_type(record_key, _fields(partition_text))


def _named_type(type_name: str | None, class_name: str | None) -> KeyGeneratorType | None:
    by_type = KeyGeneratorType.from_type_name(type_name) if type_name else None
    by_class = KeyGeneratorType.from_class_name(class_name) if class_name else None
    if by_type and by_class and by_type is not by_class:
        raise InvalidRequestError(f"The key generator is both {by_type.value} and {by_class.value}.")
    return by_class or by_type


def infer_key_generator_type(
    record_key: tuple[str, ...], partition_items: tuple[str, ...]
) -> KeyGeneratorType:
    """Return the key generator that Hudi 1.2 uses if none is configured. Hudi 0.15 differs: it never infers CUSTOM."""
    if not partition_items:
        return KeyGeneratorType.NON_PARTITION
    if any(":" in item for item in partition_items):
        return KeyGeneratorType.CUSTOM
    if len(partition_items) == 1 and len(record_key) == 1:
        return KeyGeneratorType.SIMPLE
    return KeyGeneratorType.COMPLEX


def _partition_fields(kind: KeyGeneratorType, text: str) -> tuple[PartitionField, ...]:
    items = _fields(text)
    if kind is KeyGeneratorType.CUSTOM:
        return tuple(_custom_field(item) for item in items)
    typed = [item for item in items if ":" in item]
    if typed:
        raise InvalidRequestError(
            f"Partition column {typed[0]!r} has a type, which the {kind.value} key generator does not support.",
            hint="Leave the type out or choose the CUSTOM key generator.",
        )
    if kind is KeyGeneratorType.TIMESTAMP:
        return tuple(PartitionField(item, PartitionFieldType.TIMESTAMP) for item in items)
    return tuple(PartitionField(item) for item in items)


def _custom_field(item: str) -> PartitionField:
    name, _, type_name = item.partition(":")
    try:
        return PartitionField(name.strip(), PartitionFieldType(type_name.strip().upper()))
    except ValueError:
        raise InvalidRequestError(
            f"Partition column {item!r} of a CUSTOM key generator needs a type.",
            hint=f"Set {PARTITION_OPTION} to column:SIMPLE or column:TIMESTAMP, separated by commas.",
        ) from None


def _check_field_counts(
    kind: KeyGeneratorType, record_key: tuple[str, ...], partition_fields: tuple[PartitionField, ...]
) -> None:
    one_key = kind in (KeyGeneratorType.SIMPLE, KeyGeneratorType.TIMESTAMP)
    if one_key and (len(record_key) != 1 or len(partition_fields) != 1):
        raise InvalidRequestError(
            f"The {kind.value} key generator needs one record key and one partition column, not "
            f"{len(record_key)} and {len(partition_fields)}.",
            hint="Use COMPLEX (or CUSTOM, for formatted timestamps), or leave the key generator out.",
        )
    if kind is KeyGeneratorType.NON_PARTITION and partition_fields:
        raise InvalidRequestError("The NON_PARTITION key generator allows no partition columns.")
    names = [item.name for item in partition_fields]
    if len(set(names)) < len(names):
        raise InvalidRequestError(f"The partition columns {','.join(names)!r} name a column twice.")


def _flag(table: TableConfig | None, options: Mapping[str, str], key: str) -> bool:
    wanted = options.get(key)
    if table is None:
        return _is_true(wanted or "false")
    stored = table.get(key) or "false"
    if wanted is not None and _is_true(wanted) is not _is_true(stored):
        raise _conflict(key, wanted, stored)
    return _is_true(stored)


def depends_on_existing_key(table: TableConfig, hoodie_options: Mapping[str, str]) -> bool:
    """Whether the form of the record keys can be found only by reading a row of the table.

    Raises:
        InvalidRequestError, UnsupportedTableError: for the same reasons as in `key_generator_config`.
    """
    hoodie_options = with_partitions_of_table(table, hoodie_options)
    record_key = _record_key_fields(table, hoodie_options)
    kind = _type(table, hoodie_options, record_key, _partition_text(table, hoodie_options))
    one_named = kind is KeyGeneratorType.COMPLEX and len(record_key) == 1
    return one_named and table.table_version < TableVersion.V9 and NEW_ENCODING_OPTION not in hoodie_options


def _encodes_single_key_name(
    table: TableConfig | None,
    options: Mapping[str, str],
    kind: KeyGeneratorType,
    record_key: tuple[str, ...],
    existing_key: str | None,
) -> bool:
    if kind is not KeyGeneratorType.COMPLEX or len(record_key) > 1:
        return False
    version = table.table_version if table else TableVersion.parse(options.get(TABLE_VERSION_OPTION, "9"))
    if version >= TableVersion.V9:
        return True
    if NEW_ENCODING_OPTION in options:
        return not _is_true(options[NEW_ENCODING_OPTION])
    if table is not None and existing_key is None:
        raise InvalidRequestError(
            "The keys of this table are stored either as value or as column:value; its properties do not show which.",
            hint=f"Read one _hoodie_record_key of the table. If it is a bare value, set {NEW_ENCODING_OPTION} to true; "
            "otherwise set the option to false.",
        )
    # If the table has no rows yet, the write stores bare values, as Hudi 0.14.1 to 1.0.2 do in these table versions.
    return (existing_key or "").startswith(f"{record_key[0]}:")


def partition_columns_of_times(
    table: TableConfig | None, hoodie_options: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the partition columns whose paths are formatted times. Raises the errors of `key_generator_config`."""
    hoodie_options = with_partitions_of_table(table, hoodie_options)
    record_key = _record_key_fields(table, hoodie_options)
    partition_text = _partition_text(table, hoodie_options)
    kind = _type(table, hoodie_options, record_key, partition_text)
    fields = _partition_fields(kind, partition_text)
    return tuple(field.name for field in fields if field.type is PartitionFieldType.TIMESTAMP)


def _timestamp_options(
    table: TableConfig | None, options: Mapping[str, str], columns: Sequence[str]
) -> TimestampKeyGenOptions:
    type_text = _time_option(table, options, "timestamp.type")
    output_format = _time_option(table, options, "output.dateformat")
    if not type_text:
        raise InvalidRequestError(
            f"The table is to be partitioned by a unit of time of the column {columns[0]!r}, but this column contains "
            f"strings or numbers, and {_TIME_PREFIXES[0]}timestamp.type does not give their meaning.",
            hint=f"If the column contains no times, leave out its unit, such as :day. Otherwise "
            "read it as a timestamp: a CSV file with inferSchema=true, other files with a source query (--source-sql) "
            f"that contains CAST({columns[0]} AS TIMESTAMP) AS {columns[0]}. Or set "
            f"{_TIME_PREFIXES[0]}timestamp.type to the meaning of the values: UNIX_TIMESTAMP (seconds), "
            "EPOCHMILLISECONDS, EPOCHMICROSECONDS, or DATE_STRING with "
            f"{_TIME_PREFIXES[0]}input.dateformat, such as "
            "yyyy-MM-dd'T'HH:mm:ss.",
        )
    try:
        timestamp_type = TimestampType(type_text.strip().upper())
    except ValueError:
        raise InvalidRequestError(
            f"{_TIME_PREFIXES[0]}timestamp.type is {type_text!r}, which is not a known type.",
            hint=f"Set it to one of {', '.join(kind.value for kind in TimestampType)}.",
        ) from None
    if not output_format:
        raise InvalidRequestError(
            f"{_TIME_PREFIXES[0]}output.dateformat is missing.", hint="For example yyyy/MM/dd."
        )
    parse_output_pattern(output_format)
    both = _time_option(table, options, "timezone")
    return TimestampKeyGenOptions(
        timestamp_type=timestamp_type,
        output_format=output_format,
        scalar_unit=_scalar_unit(_time_option(table, options, "timestamp.scalar.time.unit")),
        input_formats=_input_formats(table, options, timestamp_type),
        input_time_zone=_time_zone(both or _time_option(table, options, "input.timezone")),
        output_time_zone=_time_zone(both or _time_option(table, options, "output.timezone")),
    )


def _time_option(table: TableConfig | None, options: Mapping[str, str], name: str) -> str | None:
    stored = (
        next((table.get(p + name) for p in _TIME_PREFIXES if table.get(p + name)), None) if table else None
    )
    wanted = next((options[p + name] for p in _TIME_PREFIXES if options.get(p + name)), None)
    if stored and wanted and stored != wanted:
        raise _conflict(_TIME_PREFIXES[0] + name, wanted, stored)
    return stored or wanted


def _scalar_unit(text: str | None) -> str:
    unit = (text or "SECONDS").strip().upper()
    if unit not in TIME_UNITS_US:
        raise InvalidRequestError(
            f"{_TIME_PREFIXES[0]}timestamp.scalar.time.unit is {text!r}, which is not a known unit.",
            hint=f"Set it to one of {', '.join(TIME_UNITS_US)}.",
        )
    return unit


def _input_formats(
    table: TableConfig | None, options: Mapping[str, str], timestamp_type: TimestampType
) -> tuple[str, ...]:
    text = _time_option(table, options, "input.dateformat")
    if not text:
        return ()
    delimiter = _time_option(table, options, "input.dateformat.list.delimiter.regex") or ","
    formats = tuple(part.strip() for part in re.split(delimiter, text) if part.strip())
    if timestamp_type.reads_text:
        for pattern in formats:
            input_expression(pattern)
    return formats


def _time_zone(text: str | None) -> str | None:
    """Return the name of the time zone for Arrow. An unknown name is an error, whereas Java silently uses UTC."""
    if not text or not text.strip():
        return None
    name = text.strip()
    if name in ("Z", "GMT", "UTC"):
        return "UTC"
    if offset := _OFFSET_ZONE.fullmatch(name):
        return f"{offset[1]}{int(offset[2]):02}:{offset[3] or '00'}"
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise InvalidRequestError(
            f"There is no time zone {name!r}.",
            hint="Use a name such as Europe/Berlin, or an offset such as GMT+8:00.",
        ) from None
    return name
