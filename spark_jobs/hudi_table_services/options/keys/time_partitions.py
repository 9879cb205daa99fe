"""Convert partition columns with a unit of time, such as ``created_at:day``, to options of Hudi's key generators."""

from collections.abc import Sequence

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.keys.key_generation import (
    KEY_GENERATOR_TYPE,
    PARTITION_PATH,
    TIMEBASED_OUTPUT_DATEFORMAT,
    TIMEBASED_OUTPUT_TIMEZONE,
)
from hudi_table_services.options.option import AnyOption

PATH_FORMATS = {"year": "yyyy", "month": "yyyy-MM", "day": "yyyy-MM-dd", "hour": "yyyy-MM-dd-HH"}
"""Maps each unit of time to the date pattern of its partition paths."""

_HUDI_TYPES = ("SIMPLE", "TIMESTAMP")
"""Types of partition columns in Hudi's own notation, such as ``updated_at:TIMESTAMP``."""


def partition_options(partition_by: Sequence[str], key_column_count: int) -> dict[AnyOption, object]:
    """Return the options that partition a table by columns.

    A column may have a unit of time, as in ``created_at:day``. Its partition paths are then dates such as
    ``2026-11-22``, in UTC. The values of the column determine ``hoodie.keygen.timebased.timestamp.type``, which is not
    part of the result.

    Args:
        partition_by: names of columns, some with a unit of time.
        key_column_count: number of columns of the record key. Hudi's TIMESTAMP key generator allows only one.

    Raises:
        InvalidRequestError: a unit is not known, or columns have different or several units of time.
    """
    _refuse_two_units(partition_by)
    split = [
        (name, unit)
        for name, _, unit in (item.rpartition(":") for item in partition_by)
        if unit in PATH_FORMATS
    ]
    for item in partition_by:
        name, _, unit = item.rpartition(":")
        if name and unit not in PATH_FORMATS and unit.upper() not in _HUDI_TYPES:
            raise InvalidRequestError(
                f"Partition column {item!r} has the unknown unit {unit!r}.",
                hint=f"Units of time: {', '.join(f'{name}:{known}' for known in PATH_FORMATS)}.",
            )
    timed = {name: unit for name, unit in split if name}
    if not timed:
        return {PARTITION_PATH: ",".join(partition_by)}
    units = sorted(set(timed.values()))
    if len(units) > 1:
        raise InvalidRequestError(
            f"The partition columns have different units of time: {', '.join(units)}.",
            hint="Hudi's key generator formats all times in the same way. Use one unit.",
        )
    plain = [item for item in partition_by if item.rpartition(":")[0] not in timed]
    if len(timed) == 1 and not plain and key_column_count == 1:
        kind, path = "TIMESTAMP", next(iter(timed))
    else:
        kind, path = "CUSTOM", ",".join(_typed(item, timed) for item in partition_by)
    return {
        PARTITION_PATH: path,
        KEY_GENERATOR_TYPE: kind,
        TIMEBASED_OUTPUT_DATEFORMAT: PATH_FORMATS[units[0]],
        TIMEBASED_OUTPUT_TIMEZONE: "UTC",
    }


def _refuse_two_units(partition_by: Sequence[str]) -> None:
    for item in partition_by:
        name, *units = item.split(":")
        if len(units) > 1:
            known = [unit for unit in dict.fromkeys(units) if unit in PATH_FORMATS] or PATH_FORMATS
            proposed = " or ".join(f"{name}:{unit}" for unit in known)
            raise InvalidRequestError(
                f"Partition column {item!r} has {len(units)} units of time.",
                hint=f"Give one unit: {proposed}.",
            )


def _typed(item: str, timed: dict[str, str]) -> str:
    name = item.rpartition(":")[0]
    if name in timed:
        return f"{name}:TIMESTAMP"
    return item if ":" in item else f"{item}:SIMPLE"
