"""A clustering of a merge-on-read table keeps the metadata table up to date: lists of files and statistics."""

import pytest

from hudi_table_services.contract.result import Outcome
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
)
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.compaction.indexed_table import build_metadata_table
from support.compaction.written_table import NORTH, SOUTH, Deleted, WrittenTable, a_row, new_storage
from support.jobs_on_tables import later
from support.log_golden import ARCHIVES
from support.metadata_table.built_tables import records_in
from support.with_logs.clusterings_here import NORTH2, SOUTH2, execute, keys, merged_rows, schedule

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")


def a_clustered_table(version: TableVersion) -> WrittenTable:
    table = WrittenTable(new_storage(), version, clock=later(0))
    table.insert({NORTH: [a_row("a", 1), a_row("b", 1)], SOUTH: [a_row("c", 1)]})
    table.insert({NORTH2: [a_row("d", 4)], SOUTH2: [a_row("e", 4)]})
    build_metadata_table(table, {FILES, COLUMN_STATS, *([PARTITION_STATS] if table.has_own_times else [])})
    table.log({NORTH: [a_row("a", 30), Deleted("b")], SOUTH: [a_row("c", 2)]})
    schedule(table.storage, later(1))
    assert execute(table.storage, later(1)).outcome is Outcome.COMPLETED
    return table


def bounds_of(stats: ColumnStats) -> tuple[object, object]:
    assert stats.min_value is not None
    assert stats.max_value is not None
    return stats.min_value.value, stats.max_value.value


@VERSIONS
def test_the_metadata_table_lists_the_new_files(version: TableVersion) -> None:
    table = a_clustered_table(version)
    listed = load_snapshot(table.storage)
    assert listed.is_from_metadata_table
    assert listed.file_slices == load_snapshot(table.storage, metadata_enable=False).file_slices
    assert [len(slices) for slices in listed.file_slices.values()] == [1, 1]
    assert keys(merged_rows(table.storage)) == [("a", 30), ("c", 2), ("d", 4), ("e", 4)]


@VERSIONS
def test_the_new_files_have_statistics(version: TableVersion) -> None:
    table = a_clustered_table(version)
    names = {s.base_file.file_name for s in table.snapshot.all_slices if s.base_file is not None}
    stats = [r.payload for r in records_in(table.storage, COLUMN_STATS).values()]
    found = {
        (s.file_name, *bounds_of(s))
        for s in stats
        if isinstance(s, ColumnStats) and s.column_name == "ts" and s.file_name in names
    }
    assert {(low, high) for _, low, high in found} == {(4, 30), (2, 4)}
    assert {name for name, *_ in found} == names


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9])
def test_statistics_of_partitions_only_become_wider(version: TableVersion) -> None:
    """Log files of other slices can have values for which no statistics are stored."""
    table = a_clustered_table(version)
    stats = [r.payload for r in records_in(table.storage, PARTITION_STATS).values()]
    bounds = {bounds_of(s) for s in stats if isinstance(s, ColumnStats) and s.column_name == "ts"}
    assert bounds == {(1, 30), (1, 4)}
