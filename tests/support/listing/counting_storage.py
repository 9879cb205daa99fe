"""A storage that counts requests as an object store would."""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from hudi_table_services.storage.stores.storage import FolderListing, Storage, StoredObject


@dataclass
class CountingStorage:
    """Counts reads and listings by path; `open_reader` counts as three: the length, the end and the content."""

    inner: Storage
    requests: Counter[str] = field(default_factory=Counter)
    guard: Any = field(default_factory=threading.Lock)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @property
    def count(self) -> int:
        return self.requests.total()

    def below(self, folder: str) -> int:
        """Requests for the folder and the files below it."""
        return sum(count for path, count in self.requests.items() if path.startswith(f"{folder}/"))

    def read(self, path: str) -> bytes:
        self._add(path)
        return self.inner.read(path)

    def size(self, path: str) -> int:
        self._add(path)
        return self.inner.size(path)

    def exists(self, path: str) -> bool:
        self._add(path)
        return self.inner.exists(path)

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        self._add(f"{folder}/")
        return self.inner.list_files(folder)

    def list_folder(self, folder: str = "") -> FolderListing:
        self._add(f"{folder}/")
        return self.inner.list_folder(folder)

    def open_reader(self, path: str) -> BinaryIO:
        self._add(path, 3)
        return self.inner.open_reader(path)

    def _add(self, path: str, number: int = 1) -> None:
        with self.guard:
            self.requests[path] += number
