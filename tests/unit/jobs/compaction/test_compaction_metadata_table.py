"""A compaction keeps the metadata table up to date: lists of files and statistics."""

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
from support.compaction.jobs_here import execute, schedule
from support.compaction.written_table import (
    NORTH,
    SOUTH,
    Deleted,
    WrittenTable,
    a_row,
    new_storage,
)
from support.jobs_on_tables import later
from support.log_golden import ARCHIVES
from support.metadata_table.built_tables import records_in

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")


def a_table(version: TableVersion) -> WrittenTable:
    table = WrittenTable(new_storage(), version, clock=later(0))
    table.insert({NORTH: [a_row("a", 1), a_row("b", 1)], SOUTH: [a_row("c", 1)]})
    build_metadata_table(table, {FILES, COLUMN_STATS, *([PARTITION_STATS] if table.has_own_times else [])})
    table.log({NORTH: [a_row("a", 30), Deleted("b")], SOUTH: [a_row("c", 2)]})
    return table


def bounds_of(stats: ColumnStats) -> tuple[object, object]:
    assert stats.min_value is not None
    assert stats.max_value is not None
    return stats.min_value.value, stats.max_value.value


def compact(table: WrittenTable) -> None:
    schedule(table.storage, later(1))
    assert execute(table.storage, later(1)).outcome is Outcome.COMPLETED


@VERSIONS
def test_the_metadata_table_lists_the_new_base_files(version: TableVersion) -> None:
    table = a_table(version)
    compact(table)
    listed = load_snapshot(table.storage)
    assert listed.is_from_metadata_table
    assert listed.file_slices == load_snapshot(table.storage, metadata_enable=False).file_slices
    assert [(row["_hoodie_record_key"], row["ts"]) for row in table.base_rows()] == [("a", 30), ("c", 2)]


@VERSIONS
def test_the_new_base_files_have_statistics(version: TableVersion) -> None:
    table = a_table(version)
    compact(table)
    names = {s.base_file.file_name for s in table.snapshot.all_slices if s.base_file is not None}
    stats = [r.payload for r in records_in(table.storage, COLUMN_STATS).values()]
    found = {
        (s.file_name, *bounds_of(s))
        for s in stats
        if isinstance(s, ColumnStats) and s.column_name == "ts" and s.file_name in names
    }
    assert {(low, high) for _, low, high in found} == {(30, 30), (2, 2)}
    assert {name for name, *_ in found} == names


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9])
def test_statistics_of_partitions_only_become_wider(version: TableVersion) -> None:
    """Log files of other slices can have values for which no statistics are stored."""
    table = a_table(version)
    compact(table)
    stats = [r.payload for r in records_in(table.storage, PARTITION_STATS).values()]
    bounds = {bounds_of(s) for s in stats if isinstance(s, ColumnStats) and s.column_name == "ts"}
    assert bounds == {(1, 30), (1, 2)}
