"""Names and manifests of the history of table versions 8 and 9 (LSMTimeline, Hudi 1.2).

The history is a set of Parquet files. ``manifest_<n>`` lists the current files. ``_version_`` contains the newest n.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.json_text import decode_json_object
from hudi_table_services.hudi_format.untyped import Untyped

VERSION_FILE = "_version_"
_WHAT = "manifest of the timeline history"
_MANIFEST = re.compile(r"manifest_(\d+)", re.ASCII)
_FILE = re.compile(r"(\d+)_(\d+)_(\d+)\.parquet", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class HistoryFile:
    """A file of the history. Files are ordered by name, as Hudi orders them for a merge.

    Attributes:
        first, last: smallest and largest requested time in the file.
        level: 0 for a file that an archival wrote; each merge with other files adds 1.
        size_bytes: exact length of the file.
    """

    first: str
    last: str
    level: int
    size_bytes: int = 0

    @property
    def name(self) -> str:
        return f"{self.first}_{self.last}_{self.level}.parquet"

    @classmethod
    def from_name(cls, name: str, size_bytes: int = 0) -> "HistoryFile | None":
        """Parse a file name; None if the name is not the name of a history file."""
        match = _FILE.fullmatch(name)
        if match is None:
            return None
        return cls(first=match[1], last=match[2], level=int(match[3]), size_bytes=size_bytes)


def manifest_name(number: int) -> str:
    """Return the name of a manifest; numbers begin at 1."""
    return f"manifest_{number}"


def manifest_number(name: str) -> int | None:
    """Return the number of a manifest; None if the name is not the name of a manifest."""
    match = _MANIFEST.fullmatch(name)
    return int(match[1]) if match else None


def encode_manifest(files: Iterable[HistoryFile]) -> bytes:
    """Encode a manifest in the layout that Hudi writes."""
    listed = ", ".join(
        f'{{\n    "fileName" : {json.dumps(each.name)},\n    "fileLen" : {each.size_bytes}\n  }}'
        for each in files
    )
    return f'{{\n  "files" : [ {listed} ]\n}}'.encode()


def decode_manifest(data: bytes) -> tuple[HistoryFile, ...]:
    """Return the files that a manifest lists.

    Raises:
        MalformedMetadataError: the data is not a manifest, or a listed name is not the name of a history file.
    """
    values = decode_json_object(data, _WHAT)
    listed = values.get("files")
    if not isinstance(listed, list):
        raise MalformedMetadataError(f"The {_WHAT} lists no files.")
    return tuple(_file(Untyped(each if isinstance(each, dict) else {}, _WHAT)) for each in listed)


def _file(record: Untyped) -> HistoryFile:
    found = HistoryFile.from_name(record.text("fileName"), record.integer("fileLen"))
    if found is None:
        raise MalformedMetadataError(
            f"The {_WHAT} lists {record.text('fileName')!r}, which is not the name of a history file."
        )
    return found
