"""Marker files: which data files a pending write may have created (MarkerType, WriteMarkers; Hudi 1.2)."""

from enum import Enum

from hudi_table_services.errors import MalformedFileNameError

TEMP_FOLDER = ".hoodie/.temp"
_INFIX = ".marker."


class MarkerKind(str, Enum):
    """CREATE: first slice of a file group; MERGE: a further slice; APPEND: log file of table version 6."""

    CREATE = "CREATE"
    MERGE = "MERGE"
    APPEND = "APPEND"


def marker_folder(instant_time: str) -> str:
    return f"{TEMP_FOLDER}/{instant_time}"


def marker_path(instant_time: str, data_file_path: str, kind: MarkerKind) -> str:
    return f"{marker_folder(instant_time)}/{data_file_path}{_INFIX}{kind.value}"


def parse_marker(text: str) -> tuple[str, MarkerKind]:
    """Data file (relative to the base path) and kind of a marker named relative to its marker folder."""
    path, infix, kind = text.rpartition(_INFIX)
    if not infix or not path:
        raise MalformedFileNameError(f"{text!r} is not a marker.")
    try:
        return path, MarkerKind(kind)
    except ValueError:
        raise MalformedFileNameError(f"{text!r} is a marker of unknown kind {kind!r}.") from None


def decode_markers_file(text: str) -> tuple[tuple[str, MarkerKind], ...]:
    return tuple(parse_marker(line.strip()) for line in text.splitlines() if line.strip())
