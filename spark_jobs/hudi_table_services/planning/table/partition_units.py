"""Compare partition columns with a unit of time, such as ``created_at:day``, with the partitions of a table."""

from collections.abc import Mapping

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.key_generator import KeyGeneratorType, PartitionFieldType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.options.keys.key_generation import (
    KEY_GENERATOR_CLASS,
    KEY_GENERATOR_TYPE,
    PARTITION_PATH,
    TIMEBASED_OUTPUT_DATEFORMAT,
    TIMEBASED_OUTPUT_TIMEZONE,
    TIMEBASED_TIMEZONE,
)
from hudi_table_services.options.keys.time_partitions import PATH_FORMATS
from hudi_table_services.options.option import AnyOption

_UNITS = {pattern: unit for unit, pattern in PATH_FORMATS.items()}
_KINDS = (KeyGeneratorType.TIMESTAMP.value, KeyGeneratorType.CUSTOM.value)
_TIME = f":{PartitionFieldType.TIMESTAMP.value}"


def with_partitions_of_table(table: TableConfig | None, options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options with the key generator of the table, if a partition column of the request has a unit of time.

    Without the record key, `partition_options` cannot know which of two key generators with the same partition paths
    the table has: TIMESTAMP, or CUSTOM with one column. All other options stay unchanged.

    Raises:
        InvalidRequestError: the table has other partition columns, or another unit of time.
    """
    pattern = options.get(TIMEBASED_OUTPUT_DATEFORMAT.key, "")
    kind = options.get(KEY_GENERATOR_TYPE.key)
    if table is None or kind not in _KINDS or options.get(KEY_GENERATOR_CLASS.key) or pattern not in _UNITS:
        return options
    stored_kind = _stored_kind(table)
    stored = table.get("hoodie.table.partition.fields") or ""
    if stored_kind is KeyGeneratorType.CUSTOM and ":" not in stored:
        return options  # Hudi 0.15 stores the columns without types, so the types in the options apply
    wanted = _columns(options.get(PARTITION_PATH.key, ""), kind)
    found = _columns(stored, stored_kind.value if stored_kind is not None else "")
    stored_pattern = _stored(table, TIMEBASED_OUTPUT_DATEFORMAT) or pattern
    zone = _stored(table, TIMEBASED_TIMEZONE) or _stored(table, TIMEBASED_OUTPUT_TIMEZONE) or "UTC"
    if wanted != found or pattern != stored_pattern or zone not in ("UTC", "GMT", "Z"):
        raise _differing(_shown(wanted, pattern), _shown(found, stored_pattern, zone))
    names = ",".join(wanted) if stored_kind is KeyGeneratorType.TIMESTAMP else stored
    made = stored_kind.value if stored_kind is not None else kind
    return {**options, PARTITION_PATH.key: names, KEY_GENERATOR_TYPE.key: made}


def _stored_kind(table: TableConfig) -> KeyGeneratorType | None:
    if name := table.get("hoodie.table.keygenerator.type"):
        return KeyGeneratorType.from_type_name(name)
    name = table.get("hoodie.table.keygenerator.class")
    return KeyGeneratorType.from_class_name(name) if name else None


def _columns(text: str, kind: str) -> dict[str, bool]:
    """Map each partition column, in order, to whether its partition paths are formatted times."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    are_times = kind == KeyGeneratorType.TIMESTAMP.value
    return {item.split(":")[0]: are_times or item.upper().endswith(_TIME) for item in items}


def _stored(table: TableConfig, option: AnyOption) -> str:
    return next((value for key in (option.key, *option.aliases) if (value := table.get(key))), "")


def _shown(columns: Mapping[str, bool], pattern: str, zone: str = "UTC") -> str:
    """Return the columns as the user names them; the result adds a pattern or time zone that no unit of time has."""
    unit = _UNITS.get(pattern, "") if zone == "UTC" else ""
    names = ",".join(f"{name}:{unit}" if is_time and unit else name for name, is_time in columns.items())
    if unit or not any(columns.values()):
        return repr(names)
    return f"{names!r}, with times in the form {pattern!r} in the time zone {zone}"


def _differing(wanted: str, stored: str) -> InvalidRequestError:
    created = "is not partitioned" if stored == "''" else f"is partitioned by {stored}"
    return InvalidRequestError(
        f"--partition-by is {wanted}, but the table {created}.",
        hint="Leave out --partition-by. The partition columns of a table cannot change; to have others, write a new "
        "table.",
    )
