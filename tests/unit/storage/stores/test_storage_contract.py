"""The contract of `Storage`; every implementation must pass these tests."""

import pickle
import random
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

import pytest
from obstore.store import LocalStore, MemoryStore

from hudi_table_services.errors import (
    InvalidRequestError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
)
from hudi_table_services.storage.stores.conditional import ConditionalStorage
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.object_store import ObjectStoreStorage
from hudi_table_services.storage.stores.storage import Storage

UNUSUAL_NAMES = [
    "a b/c d",
    "50%/a%20b",
    "city=São Paulo/Åß.parquet",
    "x=y/10:30",
    "#?[]{}*~/'\"&+,\\",
    ".hidden/..double",
]


class StorageContract:
    """Tests of `Storage`; one subclass per implementation."""

    unusual_names: ClassVar[Sequence[str]] = UNUSUAL_NAMES

    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        raise NotImplementedError

    def test_a_created_file_is_read_back(self, storage: Storage) -> None:
        storage.create("a/b.txt", b"one")
        assert storage.read("a/b.txt") == b"one"
        assert storage.size("a/b.txt") == 3
        assert storage.exists("a/b.txt")

    def test_a_writer_accepts_any_buffer(self, storage: Storage) -> None:
        with storage.open_writer("a/b") as writer:
            for data in (b"ab", bytearray(b"cd"), memoryview(b"ef"), memoryview(b"gh").cast("b")):
                assert writer.write(data) == 2
        assert storage.read("a/b") == b"abcdefgh"

    def test_an_empty_file_is_listed(self, storage: Storage) -> None:
        storage.create("a/empty", b"")
        assert storage.read("a/empty") == b""
        assert [(f.path, f.size_bytes) for f in storage.list_files()] == [("a/empty", 0)]

    def test_a_second_creation_fails_and_keeps_the_first_content(self, storage: Storage) -> None:
        storage.create("a", b"one")
        with pytest.raises(ObjectExistsError, match="'a'"):
            storage.create("a", b"two")
        assert storage.read("a") == b"one"

    def test_many_files_are_deleted_and_missing_files_are_ignored(self, storage: Storage) -> None:
        for name in self.unusual_names:
            storage.create(f"kept/{name}", b"x")
            storage.create(f"gone/{name}", b"x")
        assert storage.delete_files([f"gone/{name}" for name in (*self.unusual_names, "never there")]) == {}
        assert {f.path for f in storage.list_files()} == {f"kept/{name}" for name in self.unusual_names}
        assert storage.delete_files([]) == {}

    def test_only_one_of_many_concurrent_creations_succeeds(self, storage: Storage) -> None:
        winners: list[int] = []
        start = threading.Barrier(8)

        def create(number: int) -> None:
            start.wait()
            try:
                storage.create("lock", str(number).encode())
            except ObjectExistsError:
                return
            winners.append(number)

        threads = [threading.Thread(target=create, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [str(number).encode() for number in winners] == [storage.read("lock")]

    def test_writing_replaces_a_file(self, storage: Storage) -> None:
        storage.write("a/b", b"one")
        storage.write("a/b", b"two")
        assert storage.read("a/b") == b"two"

    @pytest.mark.parametrize("operation", ["read", "size", "modified_ms", "open_reader"])
    def test_the_error_names_a_missing_file(self, storage: Storage, operation: str) -> None:
        with pytest.raises(ObjectNotFoundError, match="'no/such'"):
            getattr(storage, operation)("no/such")

    def test_a_folder_does_not_exist_as_a_file(self, storage: Storage) -> None:
        storage.create("a/b", b"")
        assert not storage.exists("a")
        assert not storage.exists("no/such")

    def test_a_file_can_be_deleted_twice(self, storage: Storage) -> None:
        storage.create("a", b"")
        assert storage.delete("a")
        storage.delete("a")
        assert not storage.exists("a")

    def test_deleting_a_folder_deletes_everything_in_it_and_nothing_else(self, storage: Storage) -> None:
        for path in ("a/b/c", "a/b/d/e", "a/bc"):
            storage.create(path, b"")
        storage.delete_folder("a/b")
        storage.delete_folder("a/b")
        assert [f.path for f in storage.list_files()] == ["a/bc"]

    def test_two_jobs_can_delete_one_folder_at_the_same_time(self, storage: Storage) -> None:
        for number in range(30):
            storage.create(f"a/{number % 3}/{number}", b"")
        start = threading.Barrier(2)
        failures: list[Exception] = []

        def delete() -> None:
            start.wait()
            try:
                storage.delete_folder("a")
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=delete) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert list(storage.list_files()) == []

    def test_listing_a_folder_returns_files_and_folders(self, storage: Storage) -> None:
        for path in ("a/z", "a/b/c", "a/b/d", "ab/x"):
            storage.create(path, b"123")
        listing = storage.list_folder("a")
        assert [(f.path, f.name, f.size_bytes) for f in listing.files] == [("a/z", "z", 3)]
        assert listing.folders == ("b",)
        assert storage.list_folder("").folders == ("a", "ab")

    def test_the_listing_of_a_missing_folder_is_empty(self, storage: Storage) -> None:
        assert storage.list_folder("no/such") == storage.list_folder("none")
        assert list(storage.list_files("no/such")) == []

    def test_the_listing_of_a_new_folder_is_empty(self, storage: Storage) -> None:
        storage.make_folder("a/b")
        storage.make_folder("a/b")
        assert list(storage.list_files()) == []

    def test_empty_folders_are_deleted_and_other_folders_are_kept(self, storage: Storage) -> None:
        storage.create("a/full", b"1")
        storage.make_folder("a/b/c")
        storage.delete_empty_folders("a/b/c")
        storage.delete_empty_folders("a/b/c")
        assert storage.list_folder("a").folders == ()
        storage.delete_empty_folders("a")
        assert [f.path for f in storage.list_files()] == ["a/full"]

    def test_modification_times_are_close_to_the_current_time(self, storage: Storage) -> None:
        storage.create("first", b"")
        storage.create("second", b"")
        assert abs(storage.modified_ms("second") - storage.modified_ms("first")) < 60_000
        assert storage.modified_ms("first") > 1_700_000_000_000

    def test_special_characters_in_names_have_no_meaning(self, storage: Storage) -> None:
        for path in self.unusual_names:
            folder, _, name = path.rpartition("/")
            storage.create(path, b"x")
            assert storage.read(path) == b"x"
            assert [f.path for f in storage.list_folder(folder).files] == [path]
            assert [f.path for f in storage.list_files()] == [path]
            assert [f.name for f in storage.list_files(folder)] == [name]
            storage.delete(path)
            assert not storage.exists(path)

    @pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "a//b", "./a", "a/", "a\0b"])
    def test_paths_outside_of_the_base_path_are_refused(self, storage: Storage, path: str) -> None:
        for use in (storage.read, storage.exists, storage.delete, storage.list_folder, storage.open_writer):
            with pytest.raises(InvalidRequestError, match="not a path below"):
                use(path)
        with pytest.raises(InvalidRequestError, match="not a path below"):
            storage.create(path, b"")

    def test_streams_write_in_parts_and_read_at_any_position(self, storage: Storage) -> None:
        data = bytes(range(256)) * 20_000
        with storage.open_writer("data/file.parquet") as sink:
            sink.write(data[:1000])
            assert sink.tell() == 1000
            sink.write(memoryview(data)[1000:])
        assert storage.size("data/file.parquet") == len(data)
        with storage.open_reader("data/file.parquet") as source:
            assert source.seekable()
            source.seek(-10, 2)
            assert source.read() == data[-10:]
            source.seek(300_000)
            assert source.read(7) == data[300_000:300_007]
            assert source.tell() == 300_007
        assert storage.read("data/file.parquet") == data

    @pytest.mark.parametrize("size", [0, 1, 512 * 1024, 512 * 1024 + 1, 1_700_000])
    def test_a_stream_reads_the_whole_file_from_its_beginning(self, storage: Storage, size: int) -> None:
        data = random.Random(size).randbytes(size)
        storage.create("data", data)
        with storage.open_reader("data") as source:
            assert source.read() == data
            assert source.read(1) == b""
        with storage.open_reader("data") as source:
            assert b"".join(iter(lambda: source.read(100_001), b"")) == data

    def test_a_stream_reads_ranges_in_any_order(self, storage: Storage) -> None:
        chance = random.Random(1)
        data = chance.randbytes(1_300_000)
        storage.create("data", data)
        with storage.open_reader("data") as source:
            for _ in range(40):
                start, length = chance.randrange(len(data) + 10), chance.choice([1, 4_096, 700_000])
                source.seek(start)
                assert source.read(length) == data[start : start + length]
            source.seek(0, 2)
            assert source.tell() == len(data)


class ConditionalContract:
    """Tests of `ConditionalStorage`, for implementations with conditional puts."""

    @pytest.fixture
    def conditional(self, storage: Storage) -> ConditionalStorage:
        assert isinstance(storage, ConditionalStorage)
        return storage

    def test_a_put_that_expects_no_object_creates_the_object(self, conditional: ConditionalStorage) -> None:
        version = conditional.put_if("a/lock", b"one", None)
        assert conditional.read_versioned("a/lock") == (b"one", version)
        with pytest.raises(ObjectExistsError, match="'a/lock'.*not have the expected version"):
            conditional.put_if("a/lock", b"two", None)
        assert conditional.read_versioned("a/lock") == (b"one", version)

    def test_a_version_can_be_replaced_only_once(self, conditional: ConditionalStorage) -> None:
        first = conditional.put_if("lock", b"one", None)
        second = conditional.put_if("lock", b"two", first)
        assert second != first
        with pytest.raises(ObjectExistsError, match="not have the expected version"):
            conditional.put_if("lock", b"three", first)
        assert conditional.read_versioned("lock") == (b"two", second)

    def test_a_version_that_was_deleted_or_overwritten_cannot_be_replaced(
        self, storage: Storage, conditional: ConditionalStorage
    ) -> None:
        version = conditional.put_if("lock", b"one", None)
        storage.write("lock", b"two")
        with pytest.raises(ObjectExistsError, match="not have the expected version"):
            conditional.put_if("lock", b"three", version)
        _, version = conditional.read_versioned("lock")
        storage.delete("lock")
        with pytest.raises(ObjectExistsError, match="not have the expected version"):
            conditional.put_if("lock", b"three", version)
        with pytest.raises(ObjectNotFoundError, match="'lock'"):
            conditional.read_versioned("lock")

    def test_only_one_of_many_concurrent_puts_replaces_a_version(
        self, conditional: ConditionalStorage
    ) -> None:
        version = conditional.put_if("lock", b"none", None)
        winners: list[int] = []
        start = threading.Barrier(8)

        def replace(number: int) -> None:
            start.wait()
            try:
                conditional.put_if("lock", str(number).encode(), version)
            except ObjectExistsError:
                return
            winners.append(number)

        threads = [threading.Thread(target=replace, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [str(number).encode() for number in winners] == [conditional.read_versioned("lock")[0]]


class TestLocalStorage(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return LocalStorage(str(tmp_path / "a table"))

    def test_local_storage_has_no_conditional_puts(self, storage: Storage) -> None:
        assert not isinstance(storage, ConditionalStorage)

    def test_the_storage_survives_pickling(self, storage: Storage) -> None:
        storage.create("a", b"one")
        assert pickle.loads(pickle.dumps(storage)).read("a") == b"one"


class TestMemoryStorage(StorageContract, ConditionalContract):
    @pytest.fixture
    def storage(self) -> Storage:
        return MemoryStorage(uuid4().hex)

    def test_the_storage_survives_pickling_within_the_process(self, storage: Storage) -> None:
        storage.create("a", b"one")
        assert pickle.loads(pickle.dumps(storage)).read("a") == b"one"


class TestObjectStoreStorage(StorageContract, ConditionalContract):
    @pytest.fixture
    def storage(self) -> Storage:
        return ObjectStoreStorage("s3://bucket/trips", MemoryStore())

    def test_settings_survive_pickling(self) -> None:
        options = {"aws_region": "eu-west-1", "aws_access_key_id": "k", "aws_secret_access_key": "s"}
        storage = ObjectStoreStorage.open("s3a://bucket/some/trips/", options)
        copy = pickle.loads(pickle.dumps(storage))
        assert copy == storage
        assert copy.base_path == "s3a://bucket/some/trips"

    def test_a_store_without_conditional_puts_raises_an_error(self, tmp_path: Path) -> None:
        storage = ObjectStoreStorage("file:///x", LocalStore(str(tmp_path)))
        version = storage.put_if("lock", b"one", None)
        with pytest.raises(StorageError, match="no conditional puts"):
            storage.put_if("lock", b"two", version)

    def test_streams_work_on_a_local_store(self, tmp_path: Path) -> None:
        storage = ObjectStoreStorage("file:///x", LocalStore(str(tmp_path)))
        with storage.open_writer("a/b") as sink:
            sink.write(b"abc")
        assert storage.read("a/b") == b"abc"
