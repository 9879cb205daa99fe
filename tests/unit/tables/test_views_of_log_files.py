"""Views of merge-on-read tables: log files, and rows that only a merge can count."""

import pytest

from hudi_table_services.command.view_summaries import files_summary, partitions_summary, table_summary
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.tables.views.live_files import read_files, read_partitions
from hudi_table_services.tables.views.table_state import read_table_state
from support.with_logs.logged_tables import A, B, a_logged_table, data_block

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
BLOCK_BYTES = len(data_block("20260101000000000"))


@VERSIONS
def test_a_slice_with_log_files_has_no_number_of_rows(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    first = table.delta(logs=[A])
    table.delta(logs=[A])
    logged, other = read_files(table.storage).files
    assert (logged.file_id, logged.log_files, logged.log_bytes, logged.row_count) == (
        "f1",
        2,
        2 * BLOCK_BYTES,
        None,
    )
    assert (other.file_id, other.log_files, other.log_bytes, other.row_count) == ("f2", 0, 0, 1)
    view = read_table_state(table.storage)
    assert (view.row_count, view.log_files, view.log_bytes) == (None, 2, 2 * BLOCK_BYTES)
    assert view.oldest_log == first.requested_time
    by_path = {each.partition_path: each for each in read_partitions(table.storage).partitions}
    assert (by_path["a"].row_count, by_path["a"].log_files) == (None, 2)
    assert (by_path["b"].row_count, by_path["b"].log_files) == (1, 0)


@VERSIONS
def test_rows_are_counted_again_after_a_compaction(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    table.delta(logs=[A, B])
    table.compact(A, B)
    view = read_table_state(table.storage)
    assert (view.row_count, view.log_files, view.oldest_log) == (2, 0, "")


def test_the_terminal_shows_log_files() -> None:
    table = a_logged_table()
    table.delta(bases=[A], logs=[FileGroupId("b", "f7")])
    table.delta(logs=[A])
    facts = dict(table_summary(read_table_state(table.storage)).facts)
    assert "2 files" in facts["Log files"]
    assert "rows not counted" in facts["Live files"]
    names = [row[1] for row in files_summary(read_files(table.storage)).grids[0].rows]
    assert any("parquet + 1 log file" in name for name in names)
    assert any("no base file" in name for name in names)
    assert len(partitions_summary(read_partitions(table.storage)).grids[0].rows) == 2
