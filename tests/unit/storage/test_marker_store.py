"""Markers on storage: markers of this project, and markers of Hudi's timeline server."""

from uuid import uuid4

import pytest

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.hudi_format.markers import Marker, MarkerKind
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage

TIME = "20260101000000000"
FILE = f"f-0_0-1-0_{TIME}.parquet"


@pytest.fixture
def storage() -> Storage:
    return MemoryStorage(uuid4().hex)


def test_direct_markers_are_read_back(storage: Storage) -> None:
    store = MarkerStore(storage, TIME)
    store.mark(FILE, MarkerKind.CREATE)
    store.mark(f"2026/city=x y/{FILE}", MarkerKind.MERGE)
    assert store.markers() == (
        Marker(f"2026/city=x y/{FILE}", MarkerKind.MERGE),
        Marker(FILE, MarkerKind.CREATE),
    )
    assert [f.size_bytes for f in storage.list_files(f".hoodie/.temp/{TIME}")] == [0, 0]


def test_markers_of_the_timeline_server_are_read(storage: Storage) -> None:
    folder = f".hoodie/.temp/{TIME}"
    storage.create(f"{folder}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    storage.create(f"{folder}/MARKERS0", f"a/{FILE}.marker.CREATE\nb/{FILE}.marker.MERGE\n".encode())
    storage.create(f"{folder}/MARKERS12", f"c/{FILE}.marker.CREATE\n".encode())
    storage.create(f"{folder}/.MARKERS0.crc", b"crc")
    assert MarkerStore(storage, TIME).data_files() == {f"a/{FILE}", f"b/{FILE}", f"c/{FILE}"}


def test_markers_of_other_instants_are_neither_read_nor_deleted(storage: Storage) -> None:
    MarkerStore(storage, f"{TIME[:-1]}1").mark(FILE, MarkerKind.CREATE)
    store = MarkerStore(storage, TIME)
    store.mark(FILE, MarkerKind.CREATE)
    store.delete()
    assert store.data_files() == frozenset()
    assert MarkerStore(storage, f"{TIME[:-1]}1").data_files() == {FILE}


def test_other_files_among_the_markers_raise_an_error(storage: Storage) -> None:
    storage.create(f".hoodie/.temp/{TIME}/a/notes.txt", b"")
    with pytest.raises(MalformedFileNameError, match=r"notes\.txt"):
        MarkerStore(storage, TIME).data_files()
