"""The storage protocol: what the table format asks of a place that keeps bytes.

Nothing here assumes rename or append. `create` is the one operation that must be atomic and exclusive: instants,
locks and new tables depend on it. See docs/adr/0010.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import BinaryIO, Protocol

from hudi_table_services.errors import StorageError


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A file: path relative to the base path, length in bytes, time of last change in epoch milliseconds."""

    path: str
    size_bytes: int
    modified_ms: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


BY_PATH = attrgetter("path")
"""Sort key of stored objects, many times faster than comparing them."""


@dataclass(frozen=True, slots=True)
class FolderListing:
    """Direct children of a folder in order of name: files, and the bare names of sub-folders."""

    files: tuple[StoredObject, ...] = ()
    folders: tuple[str, ...] = ()


class Storage(Protocol):
    """A table's base path on some storage.

    Paths are relative to the base path, ``/`` between names; ``""`` is the base path. Names may hold spaces, ``%``
    and any Unicode and are taken literally. A path that leaves the base path raises InvalidRequestError, everything
    else StorageError or a subclass, with path and operation in the message. Instances can be pickled.
    """

    @property
    def uri(self) -> str:
        """The base path as a URI, percent-encoded where its scheme wants that."""

    @property
    def base_path(self) -> str:
        """The base path as Hudi writes it into plans: not encoded, local paths without a scheme."""

    def read(self, path: str) -> bytes:
        """Raises ObjectNotFoundError."""

    def size(self, path: str) -> int:
        """Length in bytes. Raises ObjectNotFoundError."""

    def modified_ms(self, path: str) -> int:
        """Time of last change in epoch milliseconds, by the storage's clock. Raises ObjectNotFoundError."""

    def exists(self, path: str) -> bool:
        """Whether there is a file (not a folder) of this name."""

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        """Every file below the folder, at any depth; nothing if there is no such folder."""

    def list_folder(self, folder: str = "") -> FolderListing:
        """Direct children; empty if there is no such folder."""

    def create(self, path: str, data: bytes) -> None:
        """Create a file that must not exist. Readers see nothing or all of it.

        Raises:
            ObjectExistsError: there is one; it is left as it was.
        """

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a file. Readers see the old or the new content, never a mixture."""

    def delete(self, path: str) -> bool:
        """Delete a file; False if there was none. Stores that do not tell always say True."""

    def delete_files(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        """Delete files, in few requests where the storage can; missing ones are fine.

        Returns:
            Those that are still there, each with the reason.
        """

    def delete_folder(self, folder: str) -> None:
        """Delete a folder with everything in it; a missing one is fine."""

    def delete_empty_folders(self, folder: str) -> None:
        """Delete the folder if it is empty, then its parents below the base path that are; never a file."""

    def make_folder(self, folder: str) -> None:
        """Create an empty folder where the storage has folders at all."""

    def open_reader(self, path: str) -> BinaryIO:
        """A seekable stream. Raises ObjectNotFoundError."""

    def open_writer(self, path: str) -> BinaryIO:
        """A stream that creates or replaces a data file; what is written need not be visible before it is closed."""


def delete_one_by_one(storage: Storage, paths: Sequence[str]) -> dict[str, StorageError]:
    """`Storage.delete_files` where there are no batches."""
    failures: dict[str, StorageError] = {}
    for path in paths:
        try:
            storage.delete(path)
        except StorageError as error:
            failures[path] = error
    return failures
