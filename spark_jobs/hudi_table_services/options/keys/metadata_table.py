"""Keys about the indexes and the services of the metadata table (HoodieMetadataConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.options.kinds import Flag, OrNone, WholeNumber
from hudi_table_services.options.option import ALL_SERVICES, AnyOption, option

COMPACT_DELTA_COMMITS = option(
    "hoodie.metadata.compact.max.delta.commits",
    10,
    "number of delta commits after which a job compacts the metadata table",
    WholeNumber(least=1),
    services=ALL_SERVICES,
)

CREATE_COLUMN_STATS = option(
    "hoodie.metadata.index.column.stats.enable",
    "",
    "whether a metadata table that a job creates has `column_stats`; by default from table version 8 on [Hudi: also "
    "adds the index to an existing metadata table]",
    OrNone(Flag()),
    services=ALL_SERVICES,
)
CREATE_PARTITION_STATS = option(
    "hoodie.metadata.index.partition.stats.enable",
    "",
    "whether a metadata table that a job creates has `partition_stats`; only a partitioned table of version 8 or 9 "
    "with `column_stats` can have this index, and has it by default [Hudi: also adds the index to an existing metadata "
    "table]",
    OrNone(Flag()),
    services=ALL_SERVICES,
)
CREATE_BLOOM_FILTERS = option(
    "hoodie.metadata.index.bloom.filter.enable",
    False,
    "whether a metadata table that a job creates has `bloom_filters` [Hudi: also adds the index to an existing "
    "metadata table]",
    Flag(),
    services=ALL_SERVICES,
)
CREATE_RECORD_INDEX = option(
    "hoodie.metadata.global.record.level.index.enable",
    False,
    "whether the metadata table of a new table has `record_index`; if the table already has commits, the job that "
    "creates its metadata table does not build this index, and a warning names `rebuild_metadata_table.py` [Hudi: also "
    "adds the index to an existing metadata table]",
    Flag(),
    "hoodie.metadata.record.index.enable",
    services=ALL_SERVICES,
)

CREATE_PARTITIONED_RECORD_INDEX = option(
    "hoodie.metadata.record.level.index.enable",
    False,
    "whether a new record index is partitioned, i.e. has file groups for each partition of the table; "
    "`rebuild_metadata_table.py --partitions record_index` builds such an index. Jobs update an existing record index "
    "of either kind, regardless of this value [Hudi: without `true`, every write damages a partitioned record index]",
    Flag(),
    services=ALL_SERVICES,
)
PARTITIONED_INDEX_MIN_GROUPS = option(
    "hoodie.metadata.record.level.index.min.filegroup.count",
    1,
    "number of file groups that a partitioned record index gets for a new partition of the table; when a job builds "
    "the index, the smallest number of file groups for each partition",
    WholeNumber(least=1),
    services=ALL_SERVICES,
)

METADATA_TABLE_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Metadata table": (
        COMPACT_DELTA_COMMITS,
        CREATE_COLUMN_STATS,
        CREATE_PARTITION_STATS,
        CREATE_BLOOM_FILTERS,
        CREATE_RECORD_INDEX,
        CREATE_PARTITIONED_RECORD_INDEX,
        PARTITIONED_INDEX_MIN_GROUPS,
    )
}
"""Maps each heading to its keys, in the order of the documentation."""
