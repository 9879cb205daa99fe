"""A storage that consists of a folder of another storage. A metadata table is a Hudi table in a folder of its table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from hudi_table_services.errors import InvalidRequestError, StorageError
from hudi_table_services.storage.stores.paths import checked_path, join_path
from hudi_table_services.storage.stores.storage import FolderListing, Storage, StoredObject


@dataclass(frozen=True, slots=True)
class FolderStorage:
    """The files below a folder. See `Storage` for the guarantees of each operation.

    Errors name paths relative to the base path of `inner`.

    Attributes:
        folder: path of the folder. Its characters must not need encoding in a URI.

    Raises:
        InvalidRequestError: `folder` is empty or outside of the base path.
    """

    inner: Storage
    folder: str

    def __post_init__(self) -> None:
        if not checked_path(self.folder):
            raise InvalidRequestError("The path of the folder is empty.")

    @property
    def uri(self) -> str:
        return join_path(self.inner.uri, self.folder)

    @property
    def base_path(self) -> str:
        return join_path(self.inner.base_path, self.folder)

    def read(self, path: str) -> bytes:
        return self.inner.read(self._full(path))

    def size(self, path: str) -> int:
        return self.inner.size(self._full(path))

    def modified_ms(self, path: str) -> int:
        return self.inner.modified_ms(self._full(path))

    def exists(self, path: str) -> bool:
        return self.inner.exists(self._full(path))

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        return map(self._relative, self.inner.list_files(self._full(folder)))

    def list_folder(self, folder: str = "") -> FolderListing:
        listing = self.inner.list_folder(self._full(folder))
        return FolderListing(tuple(map(self._relative, listing.files)), listing.folders)

    def create(self, path: str, data: bytes) -> None:
        self.inner.create(self._full(path), data)

    def write(self, path: str, data: bytes) -> None:
        self.inner.write(self._full(path), data)

    def delete(self, path: str) -> bool:
        return self.inner.delete(self._full(path))

    def delete_files(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        failures = self.inner.delete_files([self._full(path) for path in paths])
        return {self._below(path): error for path, error in failures.items()}

    def delete_folder(self, folder: str) -> None:
        self.inner.delete_folder(self._full(folder))

    def delete_empty_folders(self, folder: str) -> None:
        """As in `Storage`; if this storage has no file at all, its own folder is deleted as well."""
        self.inner.delete_empty_folders(self._full(folder))

    def has_folder(self, folder: str) -> bool:
        return self.inner.has_folder(self._full(folder))

    def make_folder(self, folder: str) -> None:
        self.inner.make_folder(self._full(folder))

    def open_reader(self, path: str) -> BinaryIO:
        return self.inner.open_reader(self._full(path))

    def open_writer(self, path: str) -> BinaryIO:
        return self.inner.open_writer(self._full(path))

    def _full(self, path: str) -> str:
        # A path with `..` must not lead out of the folder, even if it leads to a place inside the table.
        return join_path(self.folder, path) if checked_path(path) else self.folder

    def _below(self, full: str) -> str:
        return full.removeprefix(f"{self.folder}/")

    def _relative(self, stored: StoredObject) -> StoredObject:
        return stored._replace(path=self._below(stored.path))
