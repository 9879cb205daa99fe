"""Report what a rebuild of the metadata table would do, without changing anything."""

from collections.abc import Sequence
from dataclasses import replace

from hudi_table_services.commits.metadata_table_building.contents import BuildSettings, base_files, data_files
from hudi_table_services.commits.metadata_table_building.pending_check import refuse_pending_writes
from hudi_table_services.commits.metadata_table_building.rebuild import metadata_table_state
from hudi_table_services.contract.metadata_table import (
    ALL,
    MetadataPartitionReport,
    MetadataTableReport,
    RebuildMetadataTableRequest,
)
from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.planning.metadata_table.build_estimate import BuildFacts, estimate_partition
from hudi_table_services.planning.metadata_table.build_plan import (
    BuildPlan,
    dropped_with,
    plan_build,
)
from hudi_table_services.planning.metadata_table.indexed_columns import indexed_columns
from hudi_table_services.planning.metadata_table.secondary_indexes import is_secondary_index
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.metadata_content import TableContent, load_content
from hudi_table_services.tables.table import TableAccess

_SAMPLED_FILES = 8


def preview_report(
    table: TableAccess,
    reader: DataFileReader,
    request: RebuildMetadataTableRequest,
    settings: BuildSettings,
) -> MetadataTableReport:
    """Report the partitions that the job would drop and build.

    Raises:
        HudiTableServiceError: the job would refuse the request.
    """
    config = read_table_config(table.storage)
    listed = config.metadata_partitions + config.inflight_metadata_partitions
    names = (FILES,) if ALL in request.drop else request.drop
    dropped = tuple(name for name in dropped_with(names, listed) if name in listed)
    before = config.metadata_partitions
    if not request.builds:
        return MetadataTableReport(partitions_before=before, dropped=dropped)
    refuse_pending_writes(table, table.load_timeline())
    state = metadata_table_state(table, config)
    state = replace(
        state,
        listed=tuple(name for name in state.listed if name not in dropped),
        being_built=tuple(name for name in state.being_built if name not in dropped),
        lost=tuple(name for name in state.lost if FILES not in names and name not in request.drop),
    )
    plan = plan_build(state, request.partitions)
    content = load_content(table)
    facts = _facts(table, content, plan, settings, reader)
    is_partitioned = settings.record_index_is_partitioned(read_index_definitions(table.storage))
    return MetadataTableReport(
        partitions_before=before,
        dropped=dropped,
        is_whole=plan.is_whole,
        built=tuple(_expected(name, facts, settings, is_partitioned) for name in plan.partitions),
        data_files=facts.data_files,
        data_partitions=facts.data_partitions,
    )


def _facts(
    table: TableAccess,
    content: TableContent,
    plan: BuildPlan,
    settings: BuildSettings,
    reader: DataFileReader,
) -> BuildFacts:
    files = base_files(content)
    all_files = data_files(content)
    columns = 0
    if {COLUMN_STATS, PARTITION_STATS} & set(plan.partitions):
        definitions = read_index_definitions(table.storage)
        definition = settings.column_stats_definition(content, table.config.table_version, definitions)
        columns = len(indexed_columns(content.schema, definition))
    sample = files[:: max(1, len(files) // _SAMPLED_FILES)][:_SAMPLED_FILES]
    return BuildFacts(
        data_files=len(all_files),
        base_files=len(files),
        live_files=sum(len(slices) for slices in content.live_slices.values()),
        data_partitions=len(content.files),
        indexed_columns=columns,
        rows_of_a_file=_mean_rows(reader, sample) if any(map(_has_keys, plan.partitions)) else 0.0,
        bloom_bytes_of_a_file=_mean_bloom(reader, sample) if BLOOM_FILTERS in plan.partitions else 0.0,
    )


def _has_keys(name: str) -> bool:
    return name == RECORD_INDEX or is_secondary_index(name)


def _mean_rows(reader: DataFileReader, sample: Sequence[DataFile]) -> float:
    return reader.row_count(sample) / max(1, len(sample))


def _mean_bloom(reader: DataFileReader, sample: Sequence[DataFile]) -> float:
    return sum(len(bloom.text) for bloom in reader.blooms(sample)) / max(1, len(sample))


def _expected(
    name: str, facts: BuildFacts, settings: BuildSettings, is_partitioned: bool
) -> MetadataPartitionReport:
    rows = facts.live_files * facts.rows_of_a_file
    if name == RECORD_INDEX and is_partitioned:
        rows_of_a_partition = int(rows / max(1, facts.data_partitions))
        groups = facts.data_partitions * settings.partitioned_index.group_count(rows_of_a_partition)
    elif _has_keys(name):
        groups = settings.record_index.group_count(int(rows))
    else:
        groups = settings.group_count(name)
    estimate = estimate_partition(name, groups, facts)
    return MetadataPartitionReport(
        name=name, file_groups=groups, records=estimate.records, size_bytes=estimate.size_bytes
    )
