"""Merge-on-read tables of real Hudi (`tests/golden`), unpacked into a storage."""

import base64
import datetime
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import uuid4

from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.file_slices import Visibility, latest_slices
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from support.fixed_clock import FixedClock
from support.metadata_table.metadata_golden import GOLDEN, archive_contents

ARCHIVES = {
    TableVersion.V6: "hudi-0.15.0/v6/log_files.tar.xz",
    TableVersion.V8: "hudi-1.2.0/v8/log_files.tar.xz",
    TableVersion.V9: "hudi-1.2.0/v9/log_files.tar.xz",
}
PARTITION = "north"


@dataclass(frozen=True)
class LogTable:
    """A table of one partition and one file group.

    Attributes:
        writes: operation and rows of each delta commit, by instant, oldest first.
        snapshot: the rows that Hudi returned at the end; empty for tables of which only log files are kept.
    """

    storage: MemoryStorage
    version: TableVersion
    writes: Mapping[str, Mapping[str, Any]]
    snapshot: list[dict[str, Any]]

    @property
    def visibility(self) -> Visibility:
        config = read_table_config(self.storage)
        timeline = TimelineStore(self.storage, config, FixedClock()).load()
        own = self.version.layout.has_completion_time_in_names
        return Visibility.of(timeline, has_own_log_instants=own)

    @property
    def file_slice(self) -> FileSlice:
        files = self.storage.list_folder(PARTITION).files
        (only,) = latest_slices(PARTITION, files, self.visibility, (), _refuse)
        return only

    def log_files(self) -> dict[str, bytes]:
        """Contents of all log files by path, in merge order."""
        logs = [
            (LogFile.from_file_name(stored.name), stored.path)
            for stored in self.storage.list_folder(PARTITION).files
            if ".log." in stored.name
        ]
        return {path: self.storage.read(path) for _, path in sorted(logs)}


def log_table(version: TableVersion, name: str) -> LogTable:
    """Unpack one table into a new storage in memory."""
    storage = MemoryStorage(uuid4().hex)
    contents = _contents(version)
    for path, content in contents.items():
        table, _, inner = path.partition("/")
        if table == name and inner != "expected.json":
            storage.write(inner, content)
    expected = json.loads(contents[f"{name}/expected.json"])
    return LogTable(storage, version, expected["writes"], expected.get("snapshot", []))


def table_names(version: TableVersion) -> list[str]:
    """Names of all tables of a version."""
    return sorted({path.partition("/")[0] for path in _contents(version)})


def plain(value: Any) -> Any:
    """Convert a value as the documents do: bytes to base64, other values without a JSON type to strings."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return value


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without the meta columns."""
    kept = {
        name: plain(value) for name, value in row.items() if not name.startswith("_hoodie_") or name == FLAG
    }
    pairs = kept[MAP]
    return {**kept, MAP: None if pairs is None else dict(pairs)}


MAP = "sizes"
FLAG = "_hoodie_is_deleted"


@functools.cache
def _contents(version: TableVersion) -> dict[str, bytes]:
    return archive_contents(GOLDEN / ARCHIVES[version])


def _refuse(partition: str, candidates: Any) -> BaseFile:
    raise AssertionError(f"{partition} has several files of one instant: {candidates}")
