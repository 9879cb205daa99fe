"""The storage protocol: the operations that the table format needs from a file system or object store.

No operation requires that the storage can rename or append. Only `create` must be both atomic and exclusive,
because instants, locks and new tables depend on it. See docs/adr/0010.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import BinaryIO, NamedTuple, Protocol

from hudi_table_services.errors import StorageError


class StoredObject(NamedTuple):
    """A file: path relative to the base path, length in bytes, time of last change in epoch milliseconds.

    A listing creates one for each file, and a tuple is created in half of the time of a frozen dataclass.
    """

    path: str
    size_bytes: int
    modified_ms: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


BY_PATH = attrgetter("path")
"""Sort key of stored objects; faster than comparing whole tuples."""


@dataclass(frozen=True, slots=True)
class FolderListing:
    """Direct children of a folder, sorted by name: the files, and the names of the sub-folders."""

    files: tuple[StoredObject, ...] = ()
    folders: tuple[str, ...] = ()


class Storage(Protocol):
    """The files below a table's base path, on any kind of storage.

    Paths are relative to the base path. ``/`` separates names, and ``""`` is the base path. Names may contain spaces,
    ``%`` and any Unicode character; they are not decoded. A path outside of the base path raises InvalidRequestError.
    All other failures raise StorageError or a subclass, with path and operation in the message. Instances can be
    pickled.
    """

    @property
    def uri(self) -> str:
        """The base path as a URI, percent-encoded if its scheme requires that."""

    @property
    def base_path(self) -> str:
        """The base path as Hudi writes it into plans: not percent-encoded, and without a scheme if it is local."""

    def read(self, path: str) -> bytes:
        """Content of a file. Raises ObjectNotFoundError."""

    def size(self, path: str) -> int:
        """Length in bytes. Raises ObjectNotFoundError."""

    def modified_ms(self, path: str) -> int:
        """Time of last change in epoch milliseconds, according to the storage's clock. Raises ObjectNotFoundError."""

    def exists(self, path: str) -> bool:
        """Whether a file (not a folder) of this name exists."""

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        """Every file below the folder, at any depth; empty if there is no such folder."""

    def list_folder(self, folder: str = "") -> FolderListing:
        """Direct children; empty if there is no such folder."""

    def create(self, path: str, data: bytes) -> None:
        """Create a file that must not exist yet. Readers see no file or the whole file.

        Raises:
            ObjectExistsError: the file exists; it was not changed.
        """

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a file. Readers see the old or the new content, never a mixture."""

    def delete(self, path: str) -> bool:
        """Delete a file. Return whether the file existed; stores that do not report this always return True."""

    def delete_files(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        """Delete files, in batches if the storage supports them; missing files are ignored.

        Returns:
            The files that could not be deleted, each with the error.
        """

    def delete_folder(self, folder: str) -> None:
        """Delete a folder with all its files and sub-folders; a missing folder is ignored."""

    def delete_empty_folders(self, folder: str) -> None:
        """Delete the folder if it is empty, then each empty parent below the base path. Never delete a file.

        With the folder ``""``, also delete the base path itself if it is empty.
        """

    def has_folder(self, folder: str) -> bool:
        """Whether a folder exists, even if it is empty. Object stores have no folders, so there it is always False."""

    def make_folder(self, folder: str) -> None:
        """Create an empty folder, if the storage has folders."""

    def open_reader(self, path: str) -> BinaryIO:
        """A seekable stream. Raises ObjectNotFoundError."""

    def open_writer(self, path: str) -> BinaryIO:
        """A stream that creates or replaces a data file; content may be invisible until the stream is closed."""


def delete_one_by_one(storage: Storage, paths: Sequence[str]) -> dict[str, StorageError]:
    """Implement `Storage.delete_files` for a storage without batch deletion."""
    failures: dict[str, StorageError] = {}
    for path in paths:
        try:
            storage.delete(path)
        except StorageError as error:
            failures[path] = error
    return failures
