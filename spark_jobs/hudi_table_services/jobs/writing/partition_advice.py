"""Warn about tables that would get one folder for almost every row."""

from hudi_table_services.execution.writing.stage_input import StagedInput
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.schema import TIMESTAMP, TIMESTAMP_NTZ
from hudi_table_services.planning.table.time_partition_advice import warn_of_times

_FEW_ROWS = 20


def time_warnings(settings: WriteSettings) -> tuple[str, ...]:
    """Return a sentence if a new table is partitioned by timestamps. Needs no rows."""
    columns = settings.writer_schema.fields
    times = {column.name for column in columns if column.type in (TIMESTAMP, TIMESTAMP_NTZ)}
    return warn_of_times(settings.key_generator, times)


def partition_warnings(settings: WriteSettings, staged: StagedInput) -> tuple[str, ...]:
    """Return a sentence if the rows of a new table have almost as many partitions as rows.

    The result is empty if `time_warnings` names the cause.

    Args:
        staged: all rows of the write.
    """
    partitions = len(staged.partition_paths)
    if staged.row_count < _FEW_ROWS or partitions * 2 <= staged.row_count or time_warnings(settings):
        return ()
    columns = ", ".join(field.name for field in settings.key_generator.partition_fields)
    return (
        f"The {staged.row_count:,} rows have {partitions:,} different partitions, and each partition gets at least one "
        f"file. Partition the table by a column with fewer values than {columns}.",
    )
