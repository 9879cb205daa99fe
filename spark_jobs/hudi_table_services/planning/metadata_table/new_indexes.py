"""Choose the partitions of a metadata table that a write creates (MetadataPartitionType, Hudi 0.15 to 1.2)."""

from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.metadata_settings_values import NewIndexes
from hudi_table_services.planning.metadata_table.build_plan import BUILD_ORDER, default_partitions


def new_partitions(version: TableVersion, indexes: NewIndexes, *, is_partitioned: bool) -> tuple[str, ...]:
    """Return the partitions of a new metadata table, in the order in which they are built.

    As in Hudi, only a partitioned table of version 8 or 9 with `column_stats` has `partition_stats`.

    Args:
        indexes: the settings of the request that choose indexes.
        is_partitioned: whether the table has partition fields.
    """
    default = default_partitions(version, is_partitioned=is_partitioned)
    has_columns = COLUMN_STATS in default if indexes.column_stats is None else indexes.column_stats
    can_have = has_columns and is_partitioned and version >= TableVersion.V8
    chosen = {
        FILES: True,
        COLUMN_STATS: has_columns,
        PARTITION_STATS: can_have and indexes.partition_stats is not False,
        BLOOM_FILTERS: indexes.bloom_filters,
        RECORD_INDEX: indexes.record_index,
    }
    return tuple(name for name in BUILD_ORDER if chosen[name])
