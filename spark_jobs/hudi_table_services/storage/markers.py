"""Markers of one pending write on storage."""

from hudi_table_services.hudi_format.markers import decode_markers_file, marker_folder, parse_marker
from hudi_table_services.storage.storage import Storage


class MarkerStore:
    def __init__(self, storage: Storage, instant_time: str) -> None:
        self._storage, self._folder = storage, marker_folder(instant_time)

    def data_files(self) -> frozenset[str]:
        found: set[str] = set()
        for stored in self._storage.list_files(self._folder):
            name = stored.path[len(self._folder) + 1 :]
            if name.startswith("MARKERS"):
                if name != "MARKERS.type":
                    found |= {p for p, _ in decode_markers_file(self._storage.read(stored.path).decode())}
            elif ".marker." in name:
                found.add(parse_marker(name)[0])
        return frozenset(found)

    def delete(self) -> None:
        self._storage.delete_folder(self._folder)
