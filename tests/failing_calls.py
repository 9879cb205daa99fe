"""A storage that fails once, at its n-th call of any kind: looks and listings as well as changes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, BinaryIO, TypeVar

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.storage import FolderListing, Storage, StoredObject

T = TypeVar("T")


class OutageError(StorageError):
    """What the storage says once; no other error of a test is of this class."""


@dataclass
class FailingCalls:
    """Passes every call on and fails at one of them; before and after it storage works.

    Attributes:
        fail_at: number of the call that fails, from 1; 0 = none.
        after: fail once the call has done its work. A listing of files breaks off half-way.
        calls: how many there were so far.
        failed: what the failing call was asked to do; empty until then.
    """

    inner: Storage
    fail_at: int = 0
    after: bool = False
    calls: int = 0
    failed: str = ""
    _guard: Lock = field(default_factory=Lock, repr=False)

    @property
    def uri(self) -> str:
        return self.inner.uri

    @property
    def base_path(self) -> str:
        return self.inner.base_path

    def read(self, path: str) -> bytes:
        return self._call(self.inner.read, path)

    def size(self, path: str) -> int:
        return self._call(self.inner.size, path)

    def modified_ms(self, path: str) -> int:
        return self._call(self.inner.modified_ms, path)

    def exists(self, path: str) -> bool:
        return self._call(self.inner.exists, path)

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        if not self._is_the_one("list_files", folder):
            yield from self.inner.list_files(folder)
            return
        found = list(self.inner.list_files(folder)) if self.after else []
        yield from found[: len(found) // 2]
        raise self._outage()

    def list_folder(self, folder: str = "") -> FolderListing:
        return self._call(self.inner.list_folder, folder)

    def open_reader(self, path: str) -> BinaryIO:
        return self._call(self.inner.open_reader, path)

    def create(self, path: str, data: bytes) -> None:
        self._call(self.inner.create, path, data)

    def write(self, path: str, data: bytes) -> None:
        self._call(self.inner.write, path, data)

    def delete(self, path: str) -> bool:
        return self._call(self.inner.delete, path)

    def delete_files(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        failures: dict[str, StorageError] = {}
        for path in paths:
            try:
                self.delete(path)
            except StorageError as error:
                failures[path] = error
        return failures

    def delete_folder(self, folder: str) -> None:
        self._call(self.inner.delete_folder, folder)

    def delete_empty_folders(self, folder: str) -> None:
        self._call(self.inner.delete_empty_folders, folder)

    def make_folder(self, folder: str) -> None:
        self._call(self.inner.make_folder, folder)

    def open_writer(self, path: str) -> BinaryIO:
        return self._call(self.inner.open_writer, path)

    def _call(self, operation: Callable[..., T], *arguments: Any) -> T:
        if not self._is_the_one(operation.__name__, str(arguments[0])):
            return operation(*arguments)
        if self.after:
            operation(*arguments)
        raise self._outage()

    def _is_the_one(self, name: str, path: str) -> bool:
        with self._guard:  # some jobs delete in threads
            self.calls += 1
            if self.calls != self.fail_at:
                return False
            self.failed = f"{name} {path!r}"
            return True

    def _outage(self) -> OutageError:
        return OutageError(f"Cannot {self.failed} now.")
