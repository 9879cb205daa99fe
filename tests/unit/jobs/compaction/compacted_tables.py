"""A table whose log files a test compacts."""

import pytest

from hudi_table_services.model.table_version import TableVersion
from support.compaction.written_table import NORTH, SOUTH, Deleted, WrittenTable, a_row, new_storage
from support.log_golden import ARCHIVES

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")


def a_table(version: TableVersion = TableVersion.V9) -> WrittenTable:
    table = WrittenTable(new_storage(), version)
    table.insert({NORTH: [a_row("a", 1), a_row("b", 1)], SOUTH: [a_row("c", 1)]})
    table.log({NORTH: [a_row("a", 2)], SOUTH: [a_row("c", 2), a_row("d", 1)]})
    table.log({NORTH: [Deleted("b")]})
    return table


def keys(table: WrittenTable) -> list[tuple[str, int]]:
    return [(row["_hoodie_record_key"], row["ts"]) for row in table.base_rows()]


def leftovers(table: WrittenTable) -> list[str]:
    folders = (".hoodie/.aux", ".hoodie/.temp", ".hoodie/.heartbeat")
    return [stored.path for folder in folders for stored in table.storage.list_files(folder)]
