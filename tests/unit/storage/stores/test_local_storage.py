"""Storage on local file systems: checksums of Hadoop, hard links, full disks, and concurrent readers."""

import errno
import os
import threading
from pathlib import Path

import pytest

from hudi_table_services.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoragePermissionError,
)
from hudi_table_services.storage.stores.local import LocalStorage, translate_errors


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


@pytest.mark.parametrize("change", ["write", "delete", "open_writer", "create"])
def test_a_change_of_a_file_deletes_its_stale_checksum(
    storage: LocalStorage, tmp_path: Path, change: str
) -> None:
    if change != "create":
        (tmp_path / "a.txt").write_bytes(b"old")
    (tmp_path / ".a.txt.crc").write_bytes(b"crc\0")
    (tmp_path / ".b.txt.crc").write_bytes(b"crc\0")
    match change:
        case "write":
            storage.write("a.txt", b"new")
        case "delete":
            storage.delete("a.txt")
        case "create":
            storage.create("a.txt", b"new")
        case "open_writer":
            storage.open_writer("a.txt").close()
    assert not (tmp_path / ".a.txt.crc").exists()
    assert (tmp_path / ".b.txt.crc").exists()


def test_creation_leaves_no_temporary_file(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create("a", b"one")
    with pytest.raises(ObjectExistsError):
        storage.create("a", b"two")
    storage.write("a", b"three")
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_creation_is_exclusive_on_file_systems_without_hard_links(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    storage.create("a", b"one")
    with pytest.raises(ObjectExistsError):
        storage.create("a", b"two")
    assert storage.read("a") == b"one"
    assert os.listdir(tmp_path) == ["a"]


def test_a_creator_that_loses_the_race_for_the_name_gets_an_error(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def link_late(source: str, target: str) -> None:
        Path(target).write_bytes(b"theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", link_late)
    with pytest.raises(ObjectExistsError):
        storage.create("a", b"ours")
    assert (tmp_path / "a").read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["a"]


def test_temporary_files_of_a_killed_writer_are_not_listed(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / ".tmp-0123").write_bytes(b"half")
    (tmp_path / "a").write_bytes(b"")
    assert [f.path for f in storage.list_files()] == ["a"]


def test_readers_see_the_old_or_the_new_content(storage: LocalStorage) -> None:
    contents = [bytes([n]) * 50_000 for n in range(20)]
    storage.write("a", contents[0])
    seen: set[bytes] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(storage.read("a"))

    reader = threading.Thread(target=read)
    reader.start()
    for content in contents:
        storage.write("a", content)
    done.set()
    reader.join()
    assert seen <= set(contents)


def test_the_error_of_a_full_disk_has_a_hint(storage: LocalStorage, tmp_path: Path) -> None:
    os.symlink("/dev/full", tmp_path / "x.parquet")
    sink = storage.open_writer("x.parquet")
    sink.write(b"some rows")
    with pytest.raises(StorageError, match=r"Cannot write 'x\.parquet'.*Free some space") as caught:
        sink.flush()
    assert caught.value.retryable
    with pytest.raises(StorageError):
        sink.close()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (errno.EACCES, StoragePermissionError),
        (errno.EPERM, StoragePermissionError),
        (errno.EROFS, StoragePermissionError),
        (errno.ENOENT, ObjectNotFoundError),
        (errno.EEXIST, ObjectExistsError),
        (errno.ENOSPC, StorageError),
        (errno.EIO, StorageError),
    ],
)
def test_errors_of_the_operating_system_are_translated(code: int, expected: type[StorageError]) -> None:
    with pytest.raises(expected, match="Cannot read 'a/b'") as caught, translate_errors("read", "a/b"):
        raise OSError(code, os.strerror(code))
    assert type(caught.value) is expected


def test_a_file_instead_of_a_folder_is_an_error(storage: LocalStorage) -> None:
    storage.create("a", b"")
    with pytest.raises(StorageError, match="a/b"):
        storage.create("a/b", b"")
