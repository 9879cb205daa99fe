"""A storage that fails at its n-th change, for tests that stop a job at each of its changes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeVar

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.stores.storage import FolderListing, Storage, StoredObject, delete_one_by_one

T = TypeVar("T")


class Crash(BaseException):
    """Simulates the death of the process: ``except Exception`` does not catch a `Crash`."""


@dataclass
class FaultyStorage:
    """Counts changes and makes one of them fail. Spark's workers use the wrapped storage, so their changes do not fail.

    Attributes:
        fail_at: number of the change that fails, counted from 1; with 0, no change fails.
        after: fail after the storage has done the change, and not before.
        error: creates the error to raise. After a `Crash`, all later calls raise a `Crash`. After any
            other error, all later calls succeed.
        log: operation and path of each change so far.
    """

    inner: Storage
    fail_at: int = 0
    after: bool = False
    error: Callable[[], BaseException] = Crash
    changes: int = 0
    has_crashed: bool = field(default=False)
    log: list[str] = field(default_factory=list, repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        return (copy, (self.inner,))

    @property
    def uri(self) -> str:
        return self.inner.uri

    @property
    def base_path(self) -> str:
        return self.inner.base_path

    def read(self, path: str) -> bytes:
        return self._look(self.inner.read, path)

    def size(self, path: str) -> int:
        return self._look(self.inner.size, path)

    def modified_ms(self, path: str) -> int:
        return self._look(self.inner.modified_ms, path)

    def exists(self, path: str) -> bool:
        return self._look(self.inner.exists, path)

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        return self._look(self.inner.list_files, folder)

    def list_folder(self, folder: str = "") -> FolderListing:
        return self._look(self.inner.list_folder, folder)

    def open_reader(self, path: str) -> BinaryIO:
        return self._look(self.inner.open_reader, path)

    def create(self, path: str, data: bytes) -> None:
        self._change(self.inner.create, path, data)

    def write(self, path: str, data: bytes) -> None:
        self._change(self.inner.write, path, data)

    def delete(self, path: str) -> bool:
        return self._change(self.inner.delete, path)

    def delete_files(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        return delete_one_by_one(self, paths)  # each deletion counts as one change

    def delete_folder(self, folder: str) -> None:
        self._change(self.inner.delete_folder, folder)

    def delete_empty_folders(self, folder: str) -> None:
        self._change(self.inner.delete_empty_folders, folder)

    def has_folder(self, folder: str) -> bool:
        return self._look(self.inner.has_folder, folder)

    def make_folder(self, folder: str) -> None:
        self._change(self.inner.make_folder, folder)

    def open_writer(self, path: str) -> BinaryIO:
        return self._change(self.inner.open_writer, path)

    def _look(self, operation: Callable[..., T], *arguments: Any) -> T:
        if self.has_crashed:
            raise Crash
        return operation(*arguments)

    def _change(self, operation: Callable[..., T], *arguments: Any) -> T:
        if self.has_crashed:
            raise Crash
        self.changes += 1
        self.log.append(f"{operation.__name__} {arguments[0]}")
        if self.changes != self.fail_at:
            return operation(*arguments)
        if self.after:
            operation(*arguments)
        failure = self.error()
        self.has_crashed = isinstance(failure, Crash)
        raise failure


def crashes_everywhere(
    act: Callable[[FaultyStorage], Any], start: Callable[[], Storage]
) -> Iterator[Storage]:
    """Run an action once for each place where it can crash; yield the storage as each run left it.

    Each run uses a fresh storage. The places are before each change and after the last change: a crash directly after
    a change leaves the same storage as a crash before the next change.
    """
    fail_at = 1
    while True:
        storage = start()
        faulty = FaultyStorage(storage, fail_at)
        try:
            act(faulty)
        except Crash:
            yield storage
            fail_at += 1
        else:
            assert faulty.changes == fail_at - 1, "the action makes fewer changes in some runs"
            break
    storage = start()
    with suppress(Crash):
        act(FaultyStorage(storage, fail_at - 1, after=True))
    yield storage
