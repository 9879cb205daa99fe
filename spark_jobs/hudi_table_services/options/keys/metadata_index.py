"""Keys of the indexes of a new metadata table (HoodieMetadataConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.options.kinds import Names, Number, WholeNumber
from hudi_table_services.options.option import ALL_SERVICES, AnyOption, option

_GROUPS_MEANING = "number of file groups of a new index `{}`"

COLUMN_STATS_COLUMNS = option(
    "hoodie.metadata.index.column.stats.column.list",
    "",
    "columns with statistics, in addition to three meta columns; a dotted path names a member of a struct [a job "
    "rejects unknown columns, and any list for table version 6, which does not store the list; by default, an existing "
    "index keeps its columns]",
    Names(),
    services=ALL_SERVICES,
)
COLUMN_STATS_MAX_COLUMNS = option(
    "hoodie.metadata.index.column.stats.max.columns.to.index",
    32,
    "number of columns with statistics if no columns are listed; the index then has the first columns of the table",
    WholeNumber(least=1),
    services=ALL_SERVICES,
)
RECORD_INDEX_MIN_GROUPS = option(
    "hoodie.metadata.global.record.level.index.min.filegroup.count",
    10,
    "smallest number of file groups of a new record index",
    WholeNumber(least=1),
    "hoodie.metadata.record.index.min.filegroup.count",
    services=ALL_SERVICES,
)
RECORD_INDEX_MAX_GROUPS = option(
    "hoodie.metadata.global.record.level.index.max.filegroup.count",
    10_000,
    "greatest number of file groups of a new record index",
    WholeNumber(least=1),
    "hoodie.metadata.record.index.max.filegroup.count",
    services=ALL_SERVICES,
)
PARTITIONED_INDEX_MAX_GROUPS = option(
    "hoodie.metadata.record.level.index.max.filegroup.count",
    10,
    "greatest number of file groups of a new partitioned record index for each partition of the table",
    WholeNumber(least=1),
    services=ALL_SERVICES,
)
RECORD_INDEX_MAX_GROUP_BYTES = option(
    "hoodie.metadata.record.index.max.filegroup.size",
    1 << 30,
    "greatest size of a file group of a record index in bytes; together with the number of keys, it determines the "
    "number of file groups",
    WholeNumber(least=1, is_size=True),
    services=ALL_SERVICES,
)
RECORD_INDEX_GROWTH = option(
    "hoodie.metadata.record.index.growth.factor",
    "2.0",
    "expected growth of the number of keys, which determines the number of file groups of a new record index",
    Number(above=0.0),
    services=ALL_SERVICES,
)

COLUMN_STATS_GROUPS = option(
    "hoodie.metadata.index.column.stats.file.group.count",
    2,
    _GROUPS_MEANING.format("column_stats"),
    WholeNumber(least=1),
    services=ALL_SERVICES,
)
PARTITION_STATS_GROUPS = option(
    "hoodie.metadata.index.partition.stats.file.group.count",
    1,
    _GROUPS_MEANING.format("partition_stats"),
    WholeNumber(least=1),
    services=ALL_SERVICES,
)
BLOOM_FILTER_GROUPS = option(
    "hoodie.metadata.index.bloom.filter.file.group.count",
    4,
    _GROUPS_MEANING.format("bloom_filters"),
    WholeNumber(least=1),
    services=ALL_SERVICES,
)

METADATA_INDEX_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Indexes of the metadata table": (
        COLUMN_STATS_COLUMNS,
        COLUMN_STATS_MAX_COLUMNS,
        COLUMN_STATS_GROUPS,
        PARTITION_STATS_GROUPS,
        BLOOM_FILTER_GROUPS,
        RECORD_INDEX_MIN_GROUPS,
        RECORD_INDEX_MAX_GROUPS,
        PARTITIONED_INDEX_MAX_GROUPS,
        RECORD_INDEX_MAX_GROUP_BYTES,
        RECORD_INDEX_GROWTH,
    ),
}
"""Maps each heading to its keys, in the order of the documentation."""
