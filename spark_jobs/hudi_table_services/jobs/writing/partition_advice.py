"""Warn about partitions: one folder for almost every row, two rows of one record, or rows without a partition value."""

from hudi_table_services.execution.writing.stage_input import StagedInput
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.key_generator import DEFAULT_PARTITION
from hudi_table_services.model.schema import TIMESTAMP, TIMESTAMP_NTZ
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.keys.writing import INDEX_TYPE
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.table.time_partition_advice import (
    warn_of_changing_partitions,
    warn_of_times,
)
from hudi_table_services.tables.table import TableAccess

_FEW_ROWS = 20


def time_warnings(settings: WriteSettings) -> tuple[str, ...]:
    """Return a sentence if a new table is partitioned by timestamps. Needs no rows."""
    columns = settings.writer_schema.fields
    times = {column.name for column in columns if column.type in (TIMESTAMP, TIMESTAMP_NTZ)}
    return warn_of_times(settings.key_generator, times)


def partition_warnings(
    options: WriteOptions, settings: WriteSettings, staged: StagedInput, table: TableAccess
) -> tuple[str, ...]:
    """Return a sentence for each property of the table's partitions that users rarely intend.

    If the table exists, only an upsert warns, and only if its updates can make second rows. An upsert without inserts
    makes none, but at this point the number of inserts is not known. So an explicit index type, which is a choice of
    the user, prevents the warning.

    Args:
        staged: all rows of the write.
    """
    changing = _changing_partitions(options, settings, table.config.table_type)
    empty = _without_value(settings, staged)
    if table.exists:
        is_confirmed = INDEX_TYPE.key in options.hoodie_options
        return (
            (*empty, *changing) if options.operation is WriteOperation.UPSERT and not is_confirmed else empty
        )
    return (*empty, *changing, *_too_many_partitions(settings, staged))


def _without_value(settings: WriteSettings, staged: StagedInput) -> tuple[str, ...]:
    """Return a sentence if rows have null or an empty text in a partition column."""
    path = next((each for each in staged.partition_paths if DEFAULT_PARTITION in each), None)
    if path is None:
        return ()
    fields = settings.key_generator.partition_fields
    columns = " or ".join(repr(field.name) for field in fields)
    return (
        f"Some rows have no value of the partition column {columns}. They are in the partition {path!r}. If the table "
        "has rows with the same keys in other partitions, these rows remain.",
    )


def _changing_partitions(
    options: WriteOptions, settings: WriteSettings, table_type: TableType
) -> tuple[str, ...]:
    if options.index_type.is_global:
        return ()
    merge_on_read = table_type is TableType.MERGE_ON_READ
    return warn_of_changing_partitions(
        settings.key_generator, settings.combine_fields, merge_on_read=merge_on_read
    )


def _too_many_partitions(settings: WriteSettings, staged: StagedInput) -> tuple[str, ...]:
    """Return a sentence if the rows have almost as many partitions as rows, unless `time_warnings` names the cause."""
    partitions = len(staged.partition_paths)
    if staged.row_count < _FEW_ROWS or partitions * 2 <= staged.row_count or time_warnings(settings):
        return ()
    columns = ", ".join(field.name for field in settings.key_generator.partition_fields)
    return (
        f"The {staged.row_count:,} rows have {partitions:,} different partitions, and each partition gets at least one "
        f"file. Partition the table by a column with fewer values than {columns}.",
    )
