"""Files of real metadata tables (`tests/golden`): Hudi 0.15.0 (table version 6), 1.0.2 (8) and 1.2.0 (9)."""

import functools
import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_table_services.hudi_format.hfile.reader import HFileReader, open_hfile
from hudi_table_services.hudi_format.metadata_table.log_file import RecordsBlock, decode_log_file
from hudi_table_services.model.table_version import TableVersion

GOLDEN = Path(__file__).parents[2] / "golden"
RELEASES = {TableVersion.V6: "0.15.0", TableVersion.V8: "1.0.2", TableVersion.V9: "1.2.0"}


@dataclass(frozen=True)
class GoldenTable:
    """One archive: contents of its files by name, ``<partition>/<file>`` for files of the metadata table."""

    version: TableVersion
    contents: Mapping[str, bytes]

    @property
    def base_files(self) -> dict[str, bytes]:
        return {name: data for name, data in self.contents.items() if name.endswith(".hfile")}

    @property
    def log_files(self) -> dict[str, bytes]:
        return {name: data for name, data in self.contents.items() if ".log." in name}

    @property
    def expected(self) -> dict[str, Any]:
        """The table's data files and rows."""
        document: dict[str, Any] = json.loads(self.contents["expected.json"])
        return document

    def hfiles(self) -> Iterator[tuple[str, HFileReader]]:
        """Every HFile with the name of its file: base files, and contents of log blocks."""
        for name, data in self.base_files.items():
            yield name, open_hfile(data, name)
        for name, data in self.log_files.items():
            for block in decode_log_file(data, name):
                if isinstance(block, RecordsBlock):
                    yield name, block.records


@functools.cache
def golden_table(version: TableVersion) -> GoldenTable:
    """The golden table of a version."""
    path = GOLDEN / f"hudi-{RELEASES[version]}" / f"v{version.value}" / "metadata_table.tar.xz"
    return GoldenTable(version, archive_contents(path))


def archive_contents(path: Path) -> dict[str, bytes]:
    """Name and content of each file in a tar archive."""
    with tarfile.open(path) as archive:
        files = ((member.name, archive.extractfile(member)) for member in archive.getmembers())
        return {name: file.read() for name, file in files if file is not None}
