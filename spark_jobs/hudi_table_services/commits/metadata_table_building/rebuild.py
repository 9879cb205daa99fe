"""Plan a build of a metadata table from the state of the table, read the facts that the build needs, and build."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from hudi_table_services.commits.metadata_table_building.build import BuiltPartition, build_partitions
from hudi_table_services.commits.metadata_table_building.contents import (
    BuildSettings,
    read_contents,
)
from hudi_table_services.commits.metadata_table_building.first_instants import creates_partitions
from hudi_table_services.commits.metadata_table_building.lost_partitions import lost_partitions
from hudi_table_services.commits.metadata_table_building.new_partition import NewPartition
from hudi_table_services.commits.metadata_table_building.new_record_index import (
    new_partitioned_record_index,
    new_record_index,
)
from hudi_table_services.commits.metadata_table_building.new_secondary_index import new_secondary_index
from hudi_table_services.commits.metadata_table_building.pending_check import refuse_pending_writes
from hudi_table_services.errors import CorruptTableError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import PARTITION_STATS, RECORD_INDEX
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TimelineLayout
from hudi_table_services.planning.metadata_table.build_plan import BuildPlan, MetadataTableState, plan_build
from hudi_table_services.planning.metadata_table.secondary_indexes import is_secondary_index
from hudi_table_services.storage.damage import REBUILD_HINT
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.metadata_table.opened_table import open_metadata_table
from hudi_table_services.storage.table_store import METADATA_TABLE, PROPERTIES, read_table_config
from hudi_table_services.tables.metadata_content import TableContent, load_content
from hudi_table_services.tables.table import TableAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """Outcome of a build.

    Attributes:
        partitions: the partitions that were built.
        is_whole: whether the build replaced the whole metadata table.
        data_files, data_partitions: number of data files and of partition paths of the table.
    """

    partitions: tuple[BuiltPartition, ...]
    is_whole: bool
    data_files: int
    data_partitions: int


def build_metadata_table(
    table: TableAccess,
    wanted: Collection[str],
    settings: BuildSettings,
    reader: DataFileReader,
    lock: TableLock,
) -> BuildResult:
    """Build partitions of the metadata table from the files of the table. Call this under the table lock.

    The partitions are replaced if they exist. Statistics and row counts of the data files are read before the first
    change.

    Args:
        wanted: see `plan_build`.

    Raises:
        PendingPlanError: a write is pending in the table.
        HudiTableServiceError: see `plan_build`, `read_contents` and `build_partitions`.
    """
    config = read_table_config(table.storage)
    timeline = table.load_timeline()
    refuse_pending_writes(table, timeline)
    plan = plan_build(metadata_table_state(table, config), wanted)
    content = load_content(table)
    definitions = read_index_definitions(table.storage)
    definition = settings.column_stats_definition(content, config.table_version, definitions)
    index = _record_index(content, config, settings, reader) if RECORD_INDEX in plan.partitions else None
    secondary = {
        name: new_secondary_index(name, content, definitions, config, reader, settings.record_index)
        for name in plan.partitions
        if is_secondary_index(name)
    }
    contents = read_contents(
        content,
        reader,
        plan,
        definition,
        has_partition_stats=_has_partition_stats(config, plan),
        record_index=index,
    )
    contents = replace(contents, secondary=secondary)

    def partition(name: str) -> NewPartition:
        new = contents.partition(name)
        has_keys = name == RECORD_INDEX or is_secondary_index(name)
        return new if has_keys else replace(new, group_count=settings.group_count(name))

    built = build_partitions(table, plan, content.timeline, partition, lock)
    return BuildResult(
        partitions=built,
        is_whole=plan.is_whole,
        data_files=sum(len(sizes) for sizes in content.files.values()),
        data_partitions=len(content.files),
    )


def _record_index(
    content: TableContent, config: TableConfig, settings: BuildSettings, reader: DataFileReader
) -> NewPartition:
    if settings.record_index_is_partitioned(read_index_definitions(reader.storage)):
        return new_partitioned_record_index(content, config, reader, settings.partitioned_index)
    return new_record_index(content, config, reader, settings.record_index)


def metadata_table_state(table: TableAccess, config: TableConfig) -> MetadataTableState:
    """Facts for `plan_build`."""
    return MetadataTableState(
        version=config.table_version,
        is_partitioned=bool(config.partition_fields),
        listed=config.metadata_partitions,
        being_built=config.inflight_metadata_partitions,
        can_grow=_can_grow(table, config),
        defined=tuple(filter(is_secondary_index, read_index_definitions(table.storage))),
        lost=lost_partitions(table.storage),
    )


def _can_grow(table: TableAccess, config: TableConfig) -> bool:
    """See `MetadataTableState.can_grow`. False if the metadata table has damage that a rebuild repairs."""
    if not config.metadata_partitions or not table.storage.exists(f"{METADATA_TABLE}/{PROPERTIES}"):
        return False
    if config.table_version.layout is TimelineLayout.V1:
        return True
    try:
        own = open_metadata_table(table.storage, config, table.clock).timeline
    except CorruptTableError as error:
        if error.hint != REBUILD_HINT:
            raise
        return False
    return any(creates_partitions(instant) for instant in own.completed)


def _has_partition_stats(config: TableConfig, plan: BuildPlan) -> bool:
    kept = () if plan.is_whole else config.metadata_partitions
    return PARTITION_STATS in (*kept, *plan.partitions)
