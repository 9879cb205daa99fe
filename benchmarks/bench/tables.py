"""Inspect the table after a scenario: the files that a reader sees, and the bytes on storage."""

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from hudi import HudiTable

from bench.checksum import Content, content_of_files
from bench.clustering import rows_read
from bench.scenarios import System


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table after a scenario.

    Attributes:
        rows_read: rows that a query for one value of a sort column must read, or None if there are no sort columns.
        file_count: number of files that a reader of the newest state opens.
        storage_bytes: bytes of all files below the table's folder, including old versions and metadata, but without
            the checksum files that only the JVM's local file system creates.
    """

    content: Content
    file_count: int
    storage_bytes: int
    rows_read: float | None = None


def inspect_table(
    system: System, table: Path, columns: tuple[str, ...], sorted_by: tuple[str, ...] = ()
) -> TableState:
    """Read the table with a reader that is independent of the measured writers.

    Args:
        sorted_by: columns. `rows_read` measures queries for a value of one of these columns.
    """
    files = _visible_files(system, table)
    return TableState(
        content=content_of_files(files, columns),
        file_count=len(files),
        storage_bytes=sum(
            path.stat().st_size for path in table.rglob("*") if path.is_file() and path.suffix != ".crc"
        ),
        rows_read=rows_read(files, sorted_by),
    )


def _visible_files(system: System, table: Path) -> list[Path]:
    if system in (System.OURS, System.HUDI):
        return _hudi_files(table)
    if system is System.DELTA:
        return _delta_files(table)
    return sorted(table.rglob("*.parquet"))


def _hudi_files(table: Path) -> list[Path]:
    """List the files with hudi-rs, which is independent of both writers."""
    slices = HudiTable(str(table)).get_file_slices()
    return [table / file_slice.base_file_relative_path() for file_slice in slices]


def _delta_files(table: Path) -> list[Path]:
    """List the files by replaying the JSON log. The benchmark's tables have too few commits for a checkpoint."""
    visible: set[str] = set()
    for commit in sorted((table / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                visible.add(action["add"]["path"])
            if "remove" in action:
                visible.discard(action["remove"]["path"])
    return [table / unquote(path) for path in sorted(visible)]
