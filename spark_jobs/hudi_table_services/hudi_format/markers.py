"""Markers, which name the data files that a pending write may have created (MarkerType, WriteMarkers; Hudi 0.15, 1.2).

A writer creates the marker before the data file, below ``.hoodie/.temp/<instant>``: as an empty file (direct marker),
or as a line in one of the files ``MARKERS0``, ``MARKERS1``, … that Hudi's timeline server writes.
"""

from enum import Enum
from typing import NamedTuple

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.model.table_path import may_hold_data

TEMP_FOLDER = ".hoodie/.temp"

_INFIX = ".marker."


class MarkerKind(str, Enum):
    """CREATE: first slice of a file group. MERGE: any other slice. APPEND: log file of table version 6."""

    CREATE = "CREATE"
    MERGE = "MERGE"
    APPEND = "APPEND"


class Marker(NamedTuple):
    """A data file that may exist: its path relative to the base path, and the kind of write that creates it."""

    data_file_path: str
    kind: MarkerKind


def marker_folder(instant_time: str) -> str:
    """Return the folder of one instant's markers, relative to the base path."""
    return f"{TEMP_FOLDER}/{instant_time}"


def marker_path(instant_time: str, data_file_path: str, kind: MarkerKind) -> str:
    """Return the path of a data file's direct marker; both paths are relative to the base path."""
    return f"{marker_folder(instant_time)}/{data_file_path}{_INFIX}{kind.value}"


def parse_marker_path(path: str) -> Marker:
    """Parse the path of a direct marker, relative to the base path.

    Raises:
        MalformedFileNameError: the path is not the path of a marker.
    """
    instant_time, slash, name = path.removeprefix(f"{TEMP_FOLDER}/").partition("/")
    if not path.startswith(f"{TEMP_FOLDER}/") or not instant_time or not slash:
        raise MalformedFileNameError(f"{path!r} is not the path of a marker.")
    return parse_marker(name)


def parse_marker(name: str) -> Marker:
    """Parse a marker's name relative to the folder of its instant, as in a ``MARKERS`` file.

    Raises:
        MalformedFileNameError: the name is not the name of a marker.
    """
    path, infix, kind = name.rpartition(_INFIX)
    if not infix or not path:
        raise MalformedFileNameError(f"{name!r} is not a marker.")
    if not may_hold_data(path):
        raise MalformedFileNameError(f"{name!r} marks a file outside the table's data folders.")
    try:
        return Marker(path, MarkerKind(kind))
    except ValueError:
        raise MalformedFileNameError(f"{name!r} is a marker of unknown kind {kind!r}.") from None


def decode_markers_file(text: str) -> tuple[Marker, ...]:
    """Return the markers of a ``MARKERSn`` file of the timeline server, one per line.

    Raises:
        MalformedFileNameError: a line is not a marker.
    """
    # splitlines is not used, because partition paths may contain other characters that Python treats as line ends.
    return tuple(parse_marker(line.removesuffix("\r")) for line in text.split("\n") if line.strip())
