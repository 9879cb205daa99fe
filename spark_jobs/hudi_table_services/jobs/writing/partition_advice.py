"""Warn about tables that would get one folder for almost every row."""

from hudi_table_services.execution.writing.stage_input import StagedInput
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.key_generator import PartitionFieldType
from hudi_table_services.model.schema import TIMESTAMP, TIMESTAMP_NTZ

_FEW_ROWS = 20


def partition_warnings(settings: WriteSettings, staged: StagedInput) -> tuple[str, ...]:
    """Return a sentence if the rows of a new table have almost as many partitions as rows, or are partitioned by times.

    Args:
        staged: all rows of the write.
    """
    times = [
        field.name
        for field in settings.key_generator.partition_fields
        if field.type is PartitionFieldType.SIMPLE
        and (column := settings.writer_schema.find(field.name)) is not None
        and column.type in (TIMESTAMP, TIMESTAMP_NTZ)
    ]
    if times:
        name = times[0]
        return (
            f"The partition column {name!r} is a timestamp, so each different time becomes a partition of its own. To "
            f"partition the table by day, create it with partition_by={name}:day (also :hour, :month or :year).",
        )
    partitions = len(staged.partition_paths)
    if staged.row_count < _FEW_ROWS or partitions * 2 <= staged.row_count:
        return ()
    columns = ", ".join(field.name for field in settings.key_generator.partition_fields)
    return (
        f"The {staged.row_count:,} rows have {partitions:,} different partitions, and each partition gets at least one "
        f"file. Partition the table by a column with fewer values than {columns}.",
    )
