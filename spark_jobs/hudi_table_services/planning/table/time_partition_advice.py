"""Advise against partition columns that contain timestamps, because each different time becomes a folder of its own."""

from collections.abc import Collection

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.model.key_generator import KeyGeneratorConfig, PartitionFieldType
from hudi_table_services.planning.table.source_columns import infers_types


def warn_of_times(
    key_generator: KeyGeneratorConfig, times: Collection[str], source: SourceSpec | None = None
) -> tuple[str, ...]:
    """Return advice about the first partition column whose timestamps become partition paths; empty if there is none.

    Args:
        times: names of the columns that contain timestamps.
        source: a source whose columns are possibly strings; a string cannot be partitioned by a unit of time. None if
            the types of the columns are known.
    """
    for item in key_generator.partition_fields:
        if item.type is PartitionFieldType.SIMPLE and item.name in times:
            return (
                f"The partition column {item.name!r} contains timestamps, so each different time becomes a partition "
                f"of its own. To partition the table by day, create it with --partition-by {item.name}:day, in Airflow "
                f'with partition_by="{item.name}:day" (also :hour, :month or :year).{_condition(item.name, source)}',
            )
    return ()


def _condition(name: str, source: SourceSpec | None) -> str:
    """Return a sentence on how to convert a column of strings to times; empty if the column cannot contain strings."""
    match source.format.lower() if source is not None else "":
        case "csv" if source is not None and not infers_types(source):
            return " The column is a string, so also set the source option inferSchema=true."
        case "json":
            return f" The column is a string, so also use CAST({name} AS TIMESTAMP) in the source query."
    return ""
