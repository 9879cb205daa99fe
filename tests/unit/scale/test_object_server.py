"""The S3 server of the benchmarks behaves as S3 where the storage client of the product depends on S3."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_table_services.errors import ObjectExistsError, ObjectNotFoundError
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.object_store import ObjectStoreStorage
from scale.base_files import footer_of, write_base_file
from scale.counted_storage import server_counts
from scale.object_server import Bucket, ObjectServer

MANY = 1_203


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ObjectServer]:
    folder = tmp_path / "table"
    for number in range(3):
        (folder / f"day={number}").mkdir(parents=True)
        (folder / f"day={number}" / "a file").write_bytes(b"0123456789")
    write_base_file(folder / "day=0" / "large", 200_000_000)
    with ObjectServer(Bucket.of_folder(tmp_path)) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


@pytest.fixture
def storage(server: ObjectServer) -> ObjectStoreStorage:
    options = {
        "aws_endpoint": server.endpoint,
        "aws_region": "us-east-1",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "allow_http": "true",
    }
    found = open_storage("s3://lake/table", options)
    assert isinstance(found, ObjectStoreStorage)
    return found


def test_folders_and_files_are_listed(storage: ObjectStoreStorage) -> None:
    assert storage.list_folder().folders == ("day=0", "day=1", "day=2")
    listed = {each.path: each.size_bytes for each in storage.list_folder("day=0").files}
    assert listed == {"day=0/a file": 10, "day=0/large": 200_000_000}
    assert len(list(storage.list_files())) == 4
    assert storage.list_folder("none").files == ()


def test_a_listing_of_several_pages_contains_each_name_once(
    storage: ObjectStoreStorage, server: ObjectServer
) -> None:
    for number in range(MANY):
        server.bucket.put(f"table/many/{number:04d}", b"x")
        server.bucket.put(f"table/folders/{number:04d}/x", b"x")
    before = server_counts(server.endpoint)
    assert [each.name for each in storage.list_folder("many").files] == [f"{n:04d}" for n in range(MANY)]
    assert storage.list_folder("folders").folders == tuple(f"{n:04d}" for n in range(MANY))
    assert server_counts(server.endpoint) - before == {"LIST": 4}


def test_parts_of_a_file_are_read(storage: ObjectStoreStorage) -> None:
    with storage.open_reader("day=1/a file") as reader:
        reader.seek(4)
        assert reader.read(3) == b"456"
    footer = footer_of(200_000_000)
    with storage.open_reader("day=0/large") as reader:
        reader.seek(200_000_000 - len(footer))
        assert reader.read() == footer
    assert storage.read("day=1/a file") == b"0123456789"


def test_a_small_file_takes_one_request_whatever_is_read(
    storage: ObjectStoreStorage, server: ObjectServer
) -> None:
    storage.write("small", bytes(300_000))
    before = server_counts(server.endpoint)
    with storage.open_reader("small") as reader:
        reader.seek(-8, 2)
        assert reader.read() == bytes(8)
        reader.seek(0)
        assert reader.read(100) == bytes(100)
        reader.seek(150_000)
        assert len(reader.read()) == 150_000
    assert server_counts(server.endpoint) - before == {"GET": 1}


def test_the_rest_of_a_file_takes_two_requests(storage: ObjectStoreStorage, server: ObjectServer) -> None:
    data = bytes(range(256)) * 12_000
    storage.write("large", data)
    before = server_counts(server.endpoint)
    with storage.open_reader("large") as reader:
        assert reader.read() == data
    assert server_counts(server.endpoint) - before == {"GET": 2}


def test_an_empty_file_is_read(storage: ObjectStoreStorage) -> None:
    storage.write("empty", b"")
    with storage.open_reader("empty") as reader:
        assert reader.read() == b""


def test_an_object_is_created_once_and_replaced_if_it_has_the_expected_version(
    storage: ObjectStoreStorage,
) -> None:
    storage.create("new", b"1")
    with pytest.raises(ObjectExistsError):
        storage.create("new", b"2")
    _, version = storage.read_versioned("new")
    storage.put_if("new", b"3", version)
    with pytest.raises(ObjectExistsError):
        storage.put_if("new", b"4", version)
    assert storage.read("new") == b"3"


def test_writes_and_deletions_do_not_change_the_folder(storage: ObjectStoreStorage, tmp_path: Path) -> None:
    storage.write("day=0/a file", b"changed")
    storage.delete_files(["day=1/a file", "day=2/a file", "none"])
    storage.delete("day=0/large")
    assert {each.path for each in storage.list_files()} == {"day=0/a file"}
    with pytest.raises(ObjectNotFoundError):
        storage.read("day=1/a file")
    assert (tmp_path / "table" / "day=0" / "a file").read_bytes() == b"0123456789"
    assert (tmp_path / "table" / "day=1" / "a file").exists()


def test_a_large_object_is_uploaded_in_parts(storage: ObjectStoreStorage) -> None:
    data = bytes(range(256)) * 50_000
    storage.write("large", data)
    with storage.open_writer("streamed") as writer:
        writer.write(data)
    assert storage.read("large") == storage.read("streamed") == data


def test_requests_are_counted_by_kind(storage: ObjectStoreStorage, server: ObjectServer) -> None:
    before = server_counts(server.endpoint)
    storage.list_folder()
    storage.read("day=0/a file")
    assert storage.exists("day=0/a file")
    assert not storage.exists("none")
    storage.write("x", b"")
    storage.delete("x")
    found = server_counts(server.endpoint) - before
    assert (found["LIST"], found["GET"], found["HEAD"], found["PUT"]) == (1, 1, 2, 1)
    assert found["DELETE"] + found["POST"] == 1
