"""Inspect the table after a scenario: the files that a reader sees, and the bytes on storage."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import fastavro
import pyarrow as pa
from hudi import HudiReadOptions, HudiTable

from bench.checksum import NOTHING, Content, content_of_batch, content_of_files
from bench.clustering import rows_read
from bench.scenarios import System

_DELETED = 2
"""Status of an entry of Iceberg's manifests: the file is not part of the snapshot."""


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
    system: System,
    table: Path,
    columns: tuple[str, ...],
    sorted_by: tuple[str, ...] = (),
    *,
    has_logs: bool = False,
) -> TableState:
    """Read the table with a reader that is independent of the measured writers.

    Args:
        sorted_by: sort columns of the table. `rows_read` measures queries for one value of one of these columns.
        has_logs: whether the table may have log files. Then hudi-rs merges them with the base files.
    """
    files = _visible_files(system, table)
    return TableState(
        content=_merged_content(table, columns) if has_logs else content_of_files(files, columns),
        file_count=len(files) + (_log_count(table) if has_logs else 0),
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
    if system is System.ICEBERG:
        return _iceberg_files(table)
    return sorted(table.rglob("*.parquet"))


def _hudi_files(table: Path) -> list[Path]:
    """List the files with hudi-rs, which is independent of both writers."""
    slices = HudiTable(str(table)).get_file_slices()
    return [table / file_slice.base_file_relative_path() for file_slice in slices]


def _log_count(table: Path) -> int:
    """Count the log files that a reader of the newest state opens."""
    return sum(len(each.log_files_relative_paths()) for each in HudiTable(str(table)).get_file_slices())


def _merged_content(table: Path, columns: tuple[str, ...]) -> Content:
    """Return the content of a snapshot query of hudi-rs, which is independent of both writers."""
    total = NOTHING
    options = HudiReadOptions().with_projection(list(columns))
    for batch in HudiTable(str(table)).read_stream(options):
        total += content_of_batch(pa.record_batch(batch).select(list(columns)), columns)
    return total


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


def _iceberg_files(table: Path) -> list[Path]:
    """List the data files of the newest snapshot from Iceberg's metadata. The tables have no delete files."""
    metadata = table / "metadata"
    version = (metadata / "version-hint.text").read_text().strip()
    document = json.loads((metadata / f"v{version}.metadata.json").read_text())
    current = document["current-snapshot-id"]
    snapshot = next(each for each in document["snapshots"] if each["snapshot-id"] == current)
    found = []
    for manifest in _avro_rows(snapshot["manifest-list"]):
        for entry in _avro_rows(manifest["manifest_path"]):
            assert entry["data_file"]["content"] == 0, "the file contains deletes"
            if entry["status"] != _DELETED:
                found.append(_local_path(entry["data_file"]["file_path"]))
    return sorted(found)


def _avro_rows(location: str) -> list[dict[str, Any]]:
    with _local_path(location).open("rb") as file:
        return list(fastavro.reader(file))  # type: ignore[arg-type]


def _local_path(location: str) -> Path:
    return Path(unquote(urlsplit(location).path))
