"""Rules about the metadata table: its deletion, indexes that jobs cannot update, and contradictory options."""

from collections.abc import Iterator

from hudi_table_services.contract.config_check import Severity
from hudi_table_services.contract.text import counted
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.options.keys.archival import MAX_COMMITS
from hudi_table_services.options.keys.metadata_table import (
    COMPACT_DELTA_COMMITS,
    CREATE_BLOOM_FILTERS,
    CREATE_COLUMN_STATS,
    CREATE_PARTITION_STATS,
    CREATE_PARTITIONED_RECORD_INDEX,
    CREATE_RECORD_INDEX,
)
from hudi_table_services.options.keys.reading import DATA_SKIPPING
from hudi_table_services.options.keys.writing import INDEX_TYPE, METADATA_ENABLE
from hudi_table_services.planning.config_check.settings import Problem, Settings, config_rule
from hudi_table_services.planning.metadata_table.grouping import is_maintained

_METADATA, _COMPACT, _MAX = METADATA_ENABLE.key, COMPACT_DELTA_COMMITS.key, MAX_COMMITS.key
_PARTITIONS = "hoodie.table.metadata.partitions"
_BEING_BUILT = f"{_PARTITIONS}.inflight"
_COLUMN_STATS = CREATE_COLUMN_STATS.key
_PARTITION_STATS = CREATE_PARTITION_STATS.key
_NEEDS_METADATA_TABLE = (
    _COLUMN_STATS,
    _PARTITION_STATS,
    CREATE_BLOOM_FILTERS.key,
    CREATE_RECORD_INDEX.key,
    *CREATE_RECORD_INDEX.aliases,
    CREATE_PARTITIONED_RECORD_INDEX.key,
    DATA_SKIPPING.key,
)
_RECORD_INDEXES = ("RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX", "RECORD_LEVEL_INDEX")
_REBUILD = "rebuild_metadata_table.py"
_DOCS = "docs/metadata-table.md"


def _indexes(settings: Settings) -> tuple[str, ...]:
    """Return the partitions of the table's metadata table; empty if there is no metadata table."""
    if settings.table is None:
        return ()
    return TableConfig(settings.table.properties).metadata_partitions


@config_rule(
    "metadata-table-stale",
    Severity.ERROR,
    "jobs of this project cannot update an index of the table's metadata table, or a writer is building an index: jobs "
    "reject the table, because their commits would make the index stale",
    source=_DOCS,
    engines="native",
)
def _metadata_table_stale(settings: Settings) -> Iterator[Problem]:
    if settings.table is None or settings.is_off(_METADATA):
        return
    for name in TableConfig(settings.table.properties).inflight_metadata_partitions:
        yield Problem(
            properties=(_BEING_BUILT,),
            reason=f"A writer is building the index {name} of the metadata table.",
            cure=f"Wait until the index is built. If its writer is dead, run {_REBUILD} --drop {name}.",
        )
    for name in _indexes(settings):
        if not is_maintained(name):
            yield Problem(
                properties=(_PARTITIONS,),
                reason=f"Jobs cannot update the index {name}, which is in the metadata table, so they reject the "
                "table.",
                cure=f"Run {_REBUILD} --drop {name} once, and switch the index off in Hudi's writers; otherwise the "
                "next write of Hudi builds the index again.",
            )
    if settings.table.refused_secondary_index:
        yield Problem(
            properties=(_PARTITIONS,),
            reason=settings.table.refused_secondary_index,
            cure=f"Do what the reason says, or drop the index with {_REBUILD}.",
        )


@config_rule(
    "index-definitions-damaged",
    Severity.ERROR,
    "the file with the definitions of the table's indexes cannot be read: every change of the table fails",
    source=_DOCS,
)
def _index_definitions_damaged(settings: Settings) -> Iterator[Problem]:
    if settings.table is not None and settings.table.definitions_damage and not settings.is_off(_METADATA):
        yield Problem(
            properties=(_PARTITIONS,),
            reason=settings.table.definitions_damage,
            cure=settings.table.definitions_cure,
        )


@config_rule(
    "metadata-table-deleted",
    Severity.WARNING,
    f"the table has a metadata table and {_METADATA} is `false`: the first change by a job deletes the metadata table "
    "with all its indexes",
    source=_DOCS,
    engines="native",
)
def _metadata_table_deleted(settings: Settings) -> Iterator[Problem]:
    names = _indexes(settings)
    if names and settings.is_off(_METADATA):
        yield Problem(
            keys=(_METADATA,),
            properties=(_PARTITIONS,),
            reason=f"The first change deletes the metadata table with its indexes: {', '.join(names)}. Only "
            f"{_REBUILD}, or a write of Hudi whose options switch on these indexes, builds the indexes again.",
            cure=f"Leave {_METADATA} out: jobs then update the metadata table. If you do not need the indexes, use the "
            "same value in Hudi's writers.",
        )


@config_rule(
    "metadata-settings-differ",
    Severity.WARNING,
    "the table has a metadata table, and the options switch the metadata table off. If a writer and a service have "
    "different settings, the service deletes the metadata table, or fails",
    source="apache/hudi#8475",
    engines="hudi",
)
def _metadata_settings_differ(settings: Settings) -> Iterator[Problem]:
    if _indexes(settings) and settings.is_off(_METADATA):
        yield Problem(
            keys=(_METADATA,),
            properties=(_PARTITIONS,),
            reason="The next job with these options deletes the metadata table; a writer with Hudi's default builds it "
            "again.",
            cure=f"Set {_METADATA} to the same value for all writers and services of the table.",
        )


@config_rule(
    "metadata-index-without-table",
    Severity.WARNING,
    f"an option needs an index of the metadata table, but {_METADATA} is `false`",
    source="HoodieMetadataConfig; SparkMetadataTableRecordIndex",
    engines="hudi",
)
def _metadata_index_without_table(settings: Settings) -> Iterator[Problem]:
    if not settings.is_off(_METADATA):
        return
    useless = [key for key in _NEEDS_METADATA_TABLE if settings.options.get(key, "").lower() == "true"]
    if settings.text(INDEX_TYPE.key).upper() in _RECORD_INDEXES:
        useless.append(INDEX_TYPE.key)
    for key in useless:
        yield Problem(
            keys=(key, _METADATA),
            reason=f"{key} has no effect without a metadata table"
            + (", and Hudi looks up keys in all files instead." if key == INDEX_TYPE.key else "."),
            cure=f"Leave {_METADATA} out, or leave {key} out.",
        )


@config_rule(
    "partition-stats-without-columns",
    Severity.ERROR,
    "statistics of partitions are on and statistics of columns are off: Hudi's writes fail",
    source="HoodieTableMetadataUtil: Column stats partition must be enabled to generate partition stats",
    engines="hudi",
)
def _partition_stats_without_columns(settings: Settings) -> Iterator[Problem]:
    if settings.options.get(_PARTITION_STATS, "").lower() == "true" and settings.is_off(_COLUMN_STATS):
        yield Problem(
            keys=(_PARTITION_STATS, _COLUMN_STATS),
            reason="Hudi computes the statistics of a partition from the statistics of its columns.",
            cure="Switch both kinds of statistics on, or both off.",
        )


@config_rule(
    "metadata-compaction-after-archival",
    Severity.WARNING,
    "archival keeps all commits since the last compaction of the metadata table, and the options let the metadata "
    f"table be compacted so rarely that more commits than {_MAX} stay on the active timeline",
    source="HoodieTimelineArchiver; HoodieMetadataConfig",
)
def _metadata_compaction_after_archival(settings: Settings) -> Iterator[Problem]:
    threshold, most = settings.number(_COMPACT), settings.number(_MAX)
    is_known = settings.has(_COMPACT) if settings.table is None else bool(_indexes(settings))
    if threshold is None or most is None or settings.is_off(_METADATA):
        return
    if is_known and threshold > most:
        yield Problem(
            keys=(_COMPACT, _MAX),
            reason=f"The metadata table is compacted after {counted(threshold, 'delta commit', 'g')}, but archival "
            f"should leave at most {counted(most, 'commit', 'g')} on the active timeline.",
            cure=f"Set {_COMPACT} to {most:g} or less.",
        )


METADATA_TABLE_RULES = (
    _metadata_table_stale,
    _index_definitions_damaged,
    _metadata_table_deleted,
    _metadata_settings_differ,
    _metadata_index_without_table,
    _partition_stats_without_columns,
    _metadata_compaction_after_archival,
)
