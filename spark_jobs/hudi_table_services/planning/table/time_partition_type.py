"""Choose how Hudi's time-based key generator reads the partition column, from the type of the column."""

from collections.abc import Mapping

from hudi_table_services.model.schema import DATE, TIMESTAMP, TIMESTAMP_NTZ, DataType, StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.options.keys.key_generation import (
    TIMEBASED_TIMESTAMP_SCALAR_TIME_UNIT,
    TIMEBASED_TIMESTAMP_TYPE,
)
from hudi_table_services.planning.table.key_generator import partition_columns_of_times

_TYPE_KEYS = (TIMEBASED_TIMESTAMP_TYPE.key, *TIMEBASED_TIMESTAMP_TYPE.aliases)


def with_timestamp_type(
    hoodie_options: Mapping[str, str], table: TableConfig | None, batch: StructType | None
) -> dict[str, str]:
    """Add ``hoodie.keygen.timebased.timestamp.type`` if the columns of the rows determine its value.

    Times need the type EPOCHMICROSECONDS, and dates need SCALAR with the unit DAYS. Numbers and text stay undetermined,
    because a number may count any unit.

    Args:
        table: properties of the table; None if the write creates the table.
        batch: columns of the rows; None if only their names are known. Any type then completes the options.
    """
    options = dict(hoodie_options)
    if any(options.get(key) or (table and table.get(key)) for key in _TYPE_KEYS):
        return options
    found: set[DataType | None] = set()
    for name in partition_columns_of_times(table, options):
        column = batch.find(name) if batch is not None else None
        found.add(column.type if column is not None else None)
    if found and (batch is None or found <= {TIMESTAMP, TIMESTAMP_NTZ}):
        options[TIMEBASED_TIMESTAMP_TYPE.key] = "EPOCHMICROSECONDS"
    elif found == {DATE}:
        options[TIMEBASED_TIMESTAMP_TYPE.key] = "SCALAR"
        options[TIMEBASED_TIMESTAMP_SCALAR_TIME_UNIT.key] = "DAYS"
    return options
