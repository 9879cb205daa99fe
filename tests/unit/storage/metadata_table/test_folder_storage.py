"""A folder of a storage behaves like a separate storage."""

import pickle
from pathlib import Path
from uuid import uuid4

import pytest

from hudi_table_services.errors import InvalidRequestError, ObjectExistsError, ObjectNotFoundError
from hudi_table_services.storage.metadata_table.folder_storage import FolderStorage
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage

FOLDER = ".hoodie/metadata"


@pytest.fixture(params=["memory", "local"])
def inner(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return MemoryStorage(uuid4().hex) if request.param == "memory" else LocalStorage(str(tmp_path))


@pytest.fixture
def folder(inner: Storage) -> FolderStorage:
    inner.write("outside", b"o")
    inner.write(".hoodie/hoodie.properties", b"p")
    return FolderStorage(inner, FOLDER)


def test_all_paths_are_relative_to_the_folder(inner: Storage, folder: FolderStorage) -> None:
    folder.create("files/one", b"1")
    folder.write("two", b"22")
    assert inner.read(f"{FOLDER}/files/one") == folder.read("files/one") == b"1"
    assert sorted((f.path, f.name, f.size_bytes) for f in folder.list_files()) == [
        ("files/one", "one", 1),
        ("two", "two", 2),
    ]
    listing = folder.list_folder()
    assert [f.path for f in listing.files] == ["two"]
    assert listing.folders == ("files",)
    assert [f.path for f in folder.list_folder("files").files] == ["files/one"]
    assert folder.size("two") == 2
    assert folder.modified_ms("two") == inner.modified_ms(f"{FOLDER}/two")
    assert folder.exists("two")
    assert not folder.exists("outside")


def test_streams_write_and_read_files_of_the_folder(folder: FolderStorage) -> None:
    with folder.open_writer("stream") as stream:
        stream.write(b"abcdef")
    with folder.open_reader("stream") as stream:
        stream.seek(2)
        assert stream.read(3) == b"cde"


def test_deletions_stay_in_the_folder(inner: Storage, folder: FolderStorage) -> None:
    for path in ("a/one", "a/two", "b/three", "four"):
        folder.create(path, b"")
    assert folder.delete("four")
    assert folder.delete_files(["a/one", "absent"]) == {}
    folder.delete_folder("b")
    assert [f.path for f in folder.list_files()] == ["a/two"]
    folder.make_folder("empty/deep")
    folder.delete_empty_folders("empty/deep")
    assert folder.list_folder().folders == ("a",)
    folder.delete_folder("")
    assert sorted(f.path for f in inner.list_files()) == [".hoodie/hoodie.properties", "outside"]


def test_failed_deletions_are_reported_with_paths_of_the_folder() -> None:
    class Failing(MemoryStorage):
        def delete_files(self, paths):  # type: ignore[no-untyped-def]
            return {path: ObjectNotFoundError("no") for path in paths}

    assert list(FolderStorage(Failing(uuid4().hex), FOLDER).delete_files(["a/b"])) == ["a/b"]


def test_errors_are_those_of_the_storage(folder: FolderStorage) -> None:
    with pytest.raises(ObjectNotFoundError):
        folder.read("absent")
    folder.create("one", b"")
    with pytest.raises(ObjectExistsError):
        folder.create("one", b"")


@pytest.mark.parametrize("path", ["..", "../hoodie.properties", "a/../b", "/a"])
def test_paths_outside_of_the_folder_are_refused(folder: FolderStorage, path: str) -> None:
    for operation in (folder.read, folder.exists, folder.list_folder, folder.delete):
        with pytest.raises(InvalidRequestError):
            operation(path)


@pytest.mark.parametrize("name", ["", "..", "a//b"])
def test_the_folder_must_be_below_the_base_path(name: str) -> None:
    with pytest.raises(InvalidRequestError):
        FolderStorage(MemoryStorage("x"), name)


def test_uri_and_base_path_include_the_folder_and_survive_pickling(
    inner: Storage, folder: FolderStorage
) -> None:
    assert folder.uri == f"{inner.uri}/{FOLDER}"
    assert folder.base_path == f"{inner.base_path}/{FOLDER}"
    assert pickle.loads(pickle.dumps(folder)) == folder
