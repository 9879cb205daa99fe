"""Count the requests to the storage of a table by kind, on a local disk or at the S3 server of this package."""

import json
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import FolderListing, StoredObject
from scale.object_server import COUNTS_PATH

RequestCounts = Callable[[], "Counter[str]"]
"""Function that returns the number of all requests until now, by kind: LIST, GET, HEAD, PUT, POST, DELETE."""

LIST_PAGE = 1_000
"""Number of names in one response to a listing of S3."""

_requests: Counter[str] = Counter()
_guard = threading.Lock()


def local_counts() -> "Counter[str]":
    """Return the requests that S3 would have received from all objects of `CountedLocalStorage`."""
    with _guard:
        return Counter(_requests)


def server_counts(endpoint: str) -> "Counter[str]":
    """Return the requests that the S3 server has received. The call itself does not count."""
    with urllib.request.urlopen(f"{endpoint}{COUNTS_PATH}") as answer:
        return Counter(json.loads(answer.read()))


class CountedLocalStorage(LocalStorage):
    """Local storage that counts its requests as if it were S3. A reader counts as one HEAD and two GET.

    The numbers of parts of a reader and of pages of a listing are approximate; the S3 server counts exactly.
    """

    def read(self, path: str) -> bytes:
        _add("GET")
        return super().read(path)

    def size(self, path: str) -> int:
        _add("HEAD")
        return super().size(path)

    def modified_ms(self, path: str) -> int:
        _add("HEAD")
        return super().modified_ms(path)

    def exists(self, path: str) -> bool:
        _add("HEAD")
        return super().exists(path)

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        found = list(_below(self, folder))
        _add("LIST", _pages(len(found)))
        return iter(found)

    def list_folder(self, folder: str = "") -> FolderListing:
        found = super().list_folder(folder)
        _add("LIST", _pages(len(found.files) + len(found.folders)))
        return found

    def create(self, path: str, data: bytes) -> None:
        _add("PUT")
        super().create(path, data)

    def write(self, path: str, data: bytes) -> None:
        _add("PUT")
        super().write(path, data)

    def delete(self, path: str) -> bool:
        _add("DELETE")
        return super().delete(path)

    def delete_files(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        _add("POST", -(-len(paths) // LIST_PAGE))
        plain = LocalStorage(self.root)
        return plain.delete_files(paths)

    def open_reader(self, path: str) -> BinaryIO:
        _add("HEAD")
        _add("GET", 2)
        return super().open_reader(path)

    def open_writer(self, path: str) -> BinaryIO:
        _add("PUT")
        return super().open_writer(path)


def _below(storage: LocalStorage, folder: str) -> Iterator[StoredObject]:
    return LocalStorage(storage.root).list_files(folder)


def _pages(names: int) -> int:
    return max(1, -(-names // LIST_PAGE))


def _add(kind: str, number: int = 1) -> None:
    with _guard:
        _requests[kind] += number
