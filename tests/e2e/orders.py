"""Rows for the jobs under test: orders with the record key ``id`` and the partition column ``region``."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from judges.hudi_rs import read_snapshot

Order = tuple[int, str, float, int]

COLUMNS = ("id", "region", "amount", "version")


def orders(ids: Iterable[int], *, regions: int = 3, version: int = 1) -> list[Order]:
    return [(i, f"region-{i % regions:03}", i + version / 8, version) for i in ids]


def write_parquet(rows: list[Order], path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))), path)
    return path


def table_flags(base_path: Path, **more: str) -> list[str]:
    """Flags that describe the table, and further flags (``more``) with ``_`` instead of dashes."""
    flags = {
        "base_path": str(base_path),
        "table_name": "orders",
        "record_key": "id",
        "partition_by": "region",
        "ordering_field": "version",
        **more,
    }
    return [f"--{name.replace('_', '-')}={value}" for name, value in flags.items()]


def stored(base_path: Path) -> list[Order]:
    """All rows of the table, sorted; hudi-rs reads them. A duplicate row occurs twice in the list."""
    rows = read_snapshot(base_path)
    if not rows.num_rows:
        return []
    return sorted(zip(*(rows[name].to_pylist() for name in COLUMNS), strict=True))
