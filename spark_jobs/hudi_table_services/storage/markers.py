"""Markers of one pending write: the only record of the data files that the write may have created."""

import logging
from collections.abc import Collection

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.markers import (
    Marker,
    MarkerKind,
    decode_markers_file,
    marker_folder,
    marker_path,
    parse_marker,
)
from hudi_table_services.storage.log_files.block_instants import block_instants
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)
_TYPE_FILE = "MARKERS.type"
_LIST_FILE_PREFIX = "MARKERS"


class MarkerStore:
    """``.hoodie/.temp/<instant>``: one empty file per data file, or list files written by Hudi's timeline server."""

    def __init__(self, storage: Storage, instant_time: str) -> None:
        self._storage = storage
        self._instant_time = instant_time
        self._folder = marker_folder(instant_time)

    def mark(self, data_file_path: str, kind: MarkerKind) -> None:
        """Write the marker of a data file. Call this before the file is created."""
        self._storage.write(marker_path(self._instant_time, data_file_path, kind), b"")

    def markers(self) -> tuple[Marker, ...]:
        """All markers, sorted by path.

        Raises:
            MalformedFileNameError: a file in the folder is not a marker.
        """
        found: set[Marker] = set()
        for stored in self._storage.list_files(self._folder):
            name = stored.path[len(self._folder) + 1 :]
            if name == _TYPE_FILE or name.endswith(".crc"):
                continue
            if "/" not in name and name.removeprefix(_LIST_FILE_PREFIX).isdigit():
                found.update(decode_markers_file(self._storage.read(stored.path).decode(errors="replace")))
            else:
                found.add(parse_marker(name))
        return tuple(sorted(found))

    def data_files(self) -> frozenset[str]:
        """Paths of all marked data files, relative to the base path."""
        return frozenset(marker.data_file_path for marker in self.markers())

    def sweep(self, keep: Collection[str] = ()) -> tuple[str, ...]:
        """Delete all marked data files except `keep`; return the paths of the deleted files. The markers stay.

        In table version 6, other instants can have appended blocks to a marked log file. Such a log file stays.

        To undo a write, call this method again after the heartbeat of the write was deleted, because tasks may have
        written files until then. Each task that ends later removes its own files. The markers stay, so that a later
        rollback can still use them.
        """
        swept = []
        for marker in self.markers():
            path = marker.data_file_path
            if path in keep or (marker.kind is MarkerKind.APPEND and not self._is_own_log(path)):
                continue
            if self._storage.delete(path):
                swept.append(path)
        return tuple(swept)

    def _is_own_log(self, path: str) -> bool:
        """Whether the file of an append marker is a log file that contains only blocks of this write.

        The append markers of Hudi before 0.15 contain the name of a base file that does not exist.
        """
        if ".log." not in path.rpartition("/")[2]:
            return False
        try:
            return block_instants(self._storage, path).belongs_to(self._instant_time)
        except ObjectNotFoundError:
            return False
        except MalformedMetadataError as error:
            _LOG.warning("%s is kept, because its blocks cannot be read: %s", path, error)
            return False

    def delete(self) -> None:
        """Delete the markers. No rollback can use them afterwards."""
        self._storage.delete_folder(self._folder)
