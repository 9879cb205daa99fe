"""Reads of the rows of a table without Spark: snapshot queries and read-optimized queries."""

import pytest

from hudi_table_services.errors import InvalidRequestError, TableNotFoundError, UnsupportedTableError
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.table_store import update_properties
from hudi_table_services.tables.views.table_rows import read_table_rows
from support.compaction.golden_slices import golden_table
from support.compaction.jobs_here import schedule
from support.compaction.written_table import NORTH, WrittenTable, a_row, new_storage
from support.log_golden import ARCHIVES, plain_row
from support.with_logs.clusterings_here import ROWS, a_table

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")
BASE_ROWS = [("a", 1), ("b", 1), ("c", 1), ("e", 1), ("f", 1), ("g", 1)]


def read(table: WrittenTable, *partitions: str, **fields: object) -> list[tuple[str, int]]:
    columns = ["_hoodie_record_key", "ts"]
    found = read_table_rows(table.storage, partitions, columns=columns, **fields)  # type: ignore[arg-type]
    assert found.column_names == columns
    return sorted((row["_hoodie_record_key"], row["ts"]) for row in found.to_pylist())


@VERSIONS
def test_a_snapshot_query_merges_log_files_and_a_read_optimized_query_ignores_them(
    version: TableVersion,
) -> None:
    table = a_table(version)
    assert read(table) == ROWS
    assert read(table, query_type="read_optimized") == BASE_ROWS
    assert read(table, "south") == [("c", 2), ("d", 1), ("g", 1)]


@VERSIONS
def test_rows_of_log_files_are_read_beside_a_pending_compaction(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    table.log({NORTH: [a_row("a", 8)]})
    assert ("a", 8) in read(table)
    assert read(table, query_type="read_optimized") == BASE_ROWS


@VERSIONS
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_a_snapshot_query_returns_the_rows_that_hudi_returned(version: TableVersion, name: str) -> None:
    table = golden_table(version, name)
    rows = read_table_rows(table.storage).to_pylist()
    found = {row["_hoodie_record_key"]: plain_row(row) for row in rows}
    expected = {row["_hoodie_record_key"]: row for row in table.snapshot}
    assert len(rows) == len(found)
    assert found == {key: {c: row[c] for c in found[key]} for key, row in expected.items()}
    commits = {row["_hoodie_record_key"]: row["_hoodie_commit_time"] for row in rows}
    assert commits == {key: row["_hoodie_commit_time"] for key, row in expected.items()}


@pytest.mark.parametrize("query_type", ["snapshot", "read_optimized"])
def test_both_queries_return_the_same_rows_of_a_copy_on_write_table(query_type: str) -> None:
    table = WrittenTable(new_storage())
    table.insert({NORTH: [a_row("a", 1), a_row("b", 2)]})
    update_properties(table.storage, {"hoodie.table.type": "COPY_ON_WRITE"}, table.clock)
    assert read(table, query_type=query_type) == [("a", 1), ("b", 2)]


def test_unknown_columns_query_types_and_tables_are_refused() -> None:
    table = a_table()
    with pytest.raises(InvalidRequestError, match="no column 'nope'"):
        read_table_rows(table.storage, columns=["nope"])
    with pytest.raises(InvalidRequestError, match=r"no column 'tss'.*Did you mean ts\? Its columns are: "):
        read_table_rows(table.storage, columns=["tss"])
    with pytest.raises(InvalidRequestError, match="'incremental' is unknown"):
        read_table_rows(table.storage, query_type="incremental")
    with pytest.raises(TableNotFoundError):
        read_table_rows(new_storage())


def test_unknown_partitions_and_a_string_instead_of_a_list_are_refused() -> None:
    table = a_table()
    with pytest.raises(InvalidRequestError, match=r"no partition 'sout' with files. Did you mean south\?"):
        read(table, "south", "sout")
    with pytest.raises(
        InvalidRequestError, match="no partition 'xx' with files. `hudi-services show partitions` lists"
    ):
        read(table, "xx")
    with pytest.raises(
        InvalidRequestError, match=r"partitions is the string 'south'.*Pass a list: partitions=\['south'\]"
    ):
        read_table_rows(table.storage, "south")
    with pytest.raises(InvalidRequestError, match=r"The partition path \['south'\] is a list"):
        read_table_rows(table.storage, [["south"]])  # type: ignore[list-item]


def test_a_rule_that_this_release_does_not_know_is_refused_only_if_log_files_are_merged() -> None:
    properties = {"hoodie.record.merge.mode": "CUSTOM", "hoodie.table.ordering.fields": "ts"}
    table = WrittenTable(new_storage(), more_properties=properties, has_ordering=False)
    table.insert({NORTH: [a_row("a", 1)]})
    with pytest.raises(UnsupportedTableError, match="CUSTOM"):
        read(table)
    assert read(table, query_type="read_optimized") == [("a", 1)]
