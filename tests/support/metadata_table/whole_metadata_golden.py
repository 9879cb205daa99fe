"""Tables of real Hudi with their whole metadata table (`tests/golden`), unpacked into a storage."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from support.fixed_clock import FixedClock
from support.metadata_table.metadata_golden import GOLDEN, RELEASES, archive_contents

VERSIONS = (TableVersion.V6, TableVersion.V8, TableVersion.V9)
NAMES = ("copy_on_write", "merge_on_read", "restored")
_EXPECTED = "expected.json"


@dataclass(frozen=True)
class WholeTable:
    """A table in a storage: everything except the content of its data files.

    Attributes:
        expected: the document that was made from the folders and the rows of the table.
    """

    storage: Storage
    version: TableVersion
    expected: Mapping[str, Any]

    @property
    def config(self) -> TableConfig:
        return read_table_config(self.storage)

    @property
    def timeline(self) -> Timeline:
        return TimelineStore(self.storage, self.config, FixedClock()).load()

    @property
    def metadata_timeline_folder(self) -> str:
        return f"{METADATA_TABLE}/{self.version.layout.timeline_folder}"

    def metadata_table(self) -> MetadataTable:
        return open_metadata_table(self.storage, self.config, FixedClock())

    @property
    def files(self) -> Mapping[str, Mapping[str, int]]:
        """Sizes of the data files by partition and name. Partitions without any file are left out."""
        return {path: sizes for path, sizes in self.expected["files"].items() if sizes}

    def put_data_files(self) -> None:
        """Create data files of the recorded sizes, without rows."""
        for path, sizes in self.files.items():
            for name, size in sizes.items():
                self.storage.write(f"{path}/{name}", bytes(size))


def whole_table(version: TableVersion, name: str, storage: Storage | None = None) -> WholeTable:
    """Unpack a golden table, into a new storage in memory if none is given."""
    contents = _contents(version, name)
    storage = storage or MemoryStorage(uuid4().hex)
    for path, content in contents.items():
        if path != _EXPECTED:
            storage.write(path, content)
    return WholeTable(storage, version, json.loads(contents[_EXPECTED]))


@functools.cache
def _contents(version: TableVersion, name: str) -> Mapping[str, bytes]:
    path = GOLDEN / f"hudi-{RELEASES[version]}" / f"v{version.value}" / f"{name}.tar.xz"
    return archive_contents(path)
