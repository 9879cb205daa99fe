"""Reads in this process, without Spark."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.reading.planned_reads import plan_read, rows_of_scan
from hudi_table_services.tables.reading.table_scan import TableScan

QUERY = "hoodie.datasource.query.type"
AS_OF = "as.of.instant"
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
READ_OPTIMIZED = {QUERY: "read_optimized"}
FULL_SCAN = {"hoodie.datasource.read.incr.fallback.fulltablescan.enable": "true"}
KINDS = pytest.mark.parametrize(
    ("version", "table_type"),
    [
        (6, "COPY_ON_WRITE"),
        pytest.param(6, "MERGE_ON_READ", marks=pytest.mark.thorough),
        pytest.param(8, "COPY_ON_WRITE", marks=pytest.mark.thorough),
        (8, "MERGE_ON_READ"),
        pytest.param(9, "COPY_ON_WRITE", marks=pytest.mark.thorough),
        (9, "MERGE_ON_READ"),
    ],
)
"""Table versions and types. `make test` uses one type of each version."""


def window(begin: str, end: str = "", **more: str) -> dict[str, str]:
    """Options of an incremental read."""
    found = {QUERY: "incremental", BEGIN: begin, **more}
    return {**found, END: end} if end else found


def rows_of(storage: Storage, scan: TableScan) -> list[dict[str, Any]]:
    """The rows of a planned read."""
    return [row for table in rows_of_scan(storage, scan) for row in table.to_pylist()]


def read(
    storage: Storage,
    options: Mapping[str, str] | None = None,
    *filters: object,
    columns: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """The rows of a read."""
    return rows_of(storage, plan_read(storage, options or {}, columns=columns, filters=filters))


def values(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    """Some columns of rows, sorted."""
    return sorted(tuple(row[name] for name in names) for row in rows)
