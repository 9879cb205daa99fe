"""Advise against partition columns that make too many folders, or whose values change with each update of a record."""

from collections.abc import Collection

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.model.key_generator import KeyGeneratorConfig, PartitionFieldType
from hudi_table_services.options.keys.writing import INDEX_TYPE, SIMPLE_UPDATES_PARTITION
from hudi_table_services.planning.table.source_columns import condition_on_text


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
                f'with partition_by="{item.name}:day" (also :hour, :month or :year). If the '
                f"column can change, also set {INDEX_TYPE}=GLOBAL_SIMPLE.{condition_on_text(item.name, source)}",
            )
    return ()


def warn_of_changing_partitions(
    key_generator: KeyGeneratorConfig, ordering_fields: Collection[str], *, merge_on_read: bool = False
) -> tuple[str, ...]:
    """Return advice about a partition column that is also an ordering field; empty if there is none.

    A partition column that is part of the record key is left out, because another value means another record.
    Call the function only if the index of the write is not global.

    Args:
        merge_on_read: whether the table is merge-on-read. A write with an ordering field cannot move rows of such a
            table to another partition.
    """
    stays = f" and {SIMPLE_UPDATES_PARTITION}=false" if merge_on_read else ""
    for item in key_generator.partition_fields:
        if item.name in ordering_fields and item.name not in key_generator.record_key_fields:
            return (
                f"The partition column {item.name!r} is also the ordering field, so an update of a record can have "
                "another partition than the stored row. The update then makes a second row, because the write searches "
                "a record only in its own partition. Partition the table by a column that never changes, such as the "
                f"time of creation, or give each write {INDEX_TYPE}=GLOBAL_SIMPLE{stays}. If the "
                f"column never changes, confirm this by an explicit {INDEX_TYPE}, such as SIMPLE: later upserts with "
                "an explicit index type give no warning.",
            )
    return ()
