"""Local and other POSIX file systems."""

import errno
import io
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from hudi_table_services.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoragePermissionError,
)
from hudi_table_services.storage.stores.paths import TEMPORARY_PREFIX, checked_path, join_path
from hudi_table_services.storage.stores.storage import BY_PATH, FolderListing, StoredObject, delete_one_by_one

_WRITE_BUFFER_BYTES = 1024 * 1024
_FOLDER_ATTEMPTS = 5
_FILE_MODE, _FOLDER_MODE, _SECRET_MODE = 0o664, 0o775, 0o600
"""Modes before the umask is applied. Even without a umask only owner and group can change a table."""
_WRITES = ("create", "write", "make folder")
_LINKS_REFUSED = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """A table below a folder of a POSIX file system. See `Storage` for the guarantees of each operation.

    Hadoop's local file system stores a checksum file ``.<name>.crc`` for each file and refuses to read a file that does
    not match its checksum. This class deletes the checksum before it changes the file, because Hadoop also reads files
    without a checksum.

    Attributes:
        root: absolute path of the base path.
    """

    root: str

    @property
    def uri(self) -> str:
        return Path(self.root).as_uri()

    @property
    def base_path(self) -> str:
        return self.root

    def file_in_path(self) -> str:
        """Return the base path, or the path above it, that is a file instead of a folder; empty if there is no file."""
        path = self.root
        while not os.path.lexists(path) and os.path.dirname(path) != path:
            path = os.path.dirname(path)
        return path if os.path.isfile(path) else ""

    def refused_folder(self) -> tuple[str, str]:
        """Return the first folder that cannot be created for the base path, and the folder above that refuses it.

        Both are empty if the base path can be created. If the base path exists but refuses new files, both are the base
        path.
        """
        missing = path = self.root
        while not os.path.lexists(path) and os.path.dirname(path) != path:
            missing, path = path, os.path.dirname(path)
        return ("", "") if os.access(path, os.W_OK | os.X_OK) else (missing, path)

    def read(self, path: str) -> bytes:
        with translate_errors("read", path), open(self._full(path), "rb") as file:
            return file.read()

    def size(self, path: str) -> int:
        with translate_errors("read the size of", path):
            return os.stat(self._full(path)).st_size

    def modified_ms(self, path: str) -> int:
        with translate_errors("read the age of", path):
            return os.stat(self._full(path)).st_mtime_ns // 1_000_000

    def exists(self, path: str) -> bool:
        # os.path.isfile also returns False if permission is denied. In that case the table must not seem absent.
        try:
            with translate_errors("check", path):
                return stat.S_ISREG(os.stat(self._full(path)).st_mode)
        except ObjectNotFoundError:
            return False

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        listing = self.list_folder(folder)
        yield from listing.files
        for name in listing.folders:
            yield from self.list_files(join_path(folder, name))

    def list_folder(self, folder: str = "") -> FolderListing:
        full = self._full(folder)
        prefix = f"{folder}/" if folder else ""
        files: list[StoredObject] = []
        folders: list[str] = []
        with translate_errors("list", folder):
            try:
                descriptor = os.open(full, os.O_RDONLY | os.O_DIRECTORY)
            except (FileNotFoundError, NotADirectoryError):
                return FolderListing()
            try:
                # With a descriptor, `DirEntry.stat` looks up a name in the open folder instead of the whole path, which
                # takes about a fifth less time.
                with os.scandir(descriptor) as entries:
                    for entry in entries:
                        name = entry.name
                        if entry.is_dir():
                            folders.append(name)
                        elif not name.startswith(TEMPORARY_PREFIX):
                            try:
                                found = entry.stat()
                            except FileNotFoundError:
                                continue  # the file was deleted after the folder was read
                            modified_ms = found.st_mtime_ns // 1_000_000
                            files.append(StoredObject(prefix + name, found.st_size, modified_ms))
            finally:
                os.close(descriptor)
        return FolderListing(tuple(sorted(files, key=BY_PATH)), tuple(sorted(folders)))

    def create(self, path: str, data: bytes) -> None:
        full = self._full(path)
        with translate_errors("create", path):
            if os.path.lexists(full):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), full)
            temporary = _write_temporary(full, data)
            try:
                _delete_checksum(full)
                _link_or_create(temporary, full, data)
            finally:
                os.unlink(temporary)
            _sync_folder(full)

    def write(self, path: str, data: bytes) -> None:
        self._write(path, data, _FILE_MODE)

    def write_secret(self, path: str, data: bytes) -> None:
        """Write a file as `write` does, but readable only by the owner, from its creation on."""
        self._write(path, data, _SECRET_MODE)

    def _write(self, path: str, data: bytes, mode: int) -> None:
        full = self._full(path)
        with translate_errors("write", path):
            temporary = _write_temporary(full, data, mode)
            try:
                _delete_checksum(full)
                os.replace(temporary, full)
            except OSError:
                os.unlink(temporary)
                raise

    def delete(self, path: str) -> bool:
        full = self._full(path)
        try:
            with translate_errors("delete", path):
                _delete_checksum(full)
                os.unlink(full)
        except ObjectNotFoundError:
            return False
        return True

    def delete_files(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        return delete_one_by_one(self, paths)

    def delete_folder(self, folder: str) -> None:
        full = self._full(folder)
        with translate_errors("delete folder", folder):
            # Another job may delete the same folder at the same time: ignore missing files.
            while os.path.isdir(full):
                with suppress(FileNotFoundError):
                    shutil.rmtree(full)

    def delete_empty_folders(self, folder: str) -> None:
        with translate_errors("delete empty folder", folder):
            while True:
                try:
                    os.rmdir(self._full(folder))
                except FileNotFoundError:
                    pass
                except OSError as error:
                    if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                        return
                    raise
                folder = folder.rpartition("/")[0]
                if not folder:
                    return

    def has_folder(self, folder: str) -> bool:
        with translate_errors("check", folder):
            return os.path.isdir(self._full(folder))

    def make_folder(self, folder: str) -> None:
        with translate_errors("make folder", folder):
            _make_folders(self._full(folder))

    def open_reader(self, path: str) -> BinaryIO:
        with translate_errors("open", path):
            return open(self._full(path), "rb")

    def open_writer(self, path: str) -> BinaryIO:
        full = self._full(path)
        with translate_errors("write", path):
            _make_folders(os.path.dirname(full))
            _delete_checksum(full)
            raw = _TranslatingFile(full, path)
        return cast(BinaryIO, io.BufferedWriter(raw, _WRITE_BUFFER_BYTES))

    def _full(self, path: str) -> str:
        return os.path.join(self.root, checked_path(path)) if path else self.root


class _TranslatingFile(io.FileIO):
    """A file whose write errors name the object of the table."""

    def __init__(self, full: str, path: str) -> None:
        super().__init__(full, "wb", opener=_opener(_FILE_MODE))
        self._path = path

    def write(self, data: Any) -> int:
        with translate_errors("write", self._path):
            return super().write(data)


def _opener(mode: int) -> Callable[[str, int], int]:
    return lambda path, flags: os.open(path, flags, mode)


def _make_folders(full: str) -> None:
    """Create a folder and its parents, all with the same mode. `os.makedirs` applies a mode only to the last folder.

    Another job may delete an empty parent between two steps, so the function tries several times. In some folders, such
    as `/proc`, no attempt can succeed.
    """
    for attempt in range(_FOLDER_ATTEMPTS):
        try:
            os.mkdir(full, _FOLDER_MODE)
            return
        except FileExistsError:
            if os.path.isdir(full):
                return
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), full) from None
        except FileNotFoundError:
            parent = os.path.dirname(full)
            if parent in ("", full) or attempt == _FOLDER_ATTEMPTS - 1:
                raise
            _make_folders(parent)


def _write_temporary(full: str, data: bytes, mode: int = _FILE_MODE) -> str:
    """Write the data to a temporary file in the target's folder, synced to disk unless it is empty."""
    folder = os.path.dirname(full)
    _make_folders(folder)
    temporary = os.path.join(folder, f"{TEMPORARY_PREFIX}{uuid.uuid4().hex}")
    try:
        with open(temporary, "xb", opener=_opener(mode)) as file:
            file.write(data)
            if data:
                file.flush()
                os.fsync(file.fileno())
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return temporary


def _link_or_create(temporary: str, full: str, data: bytes) -> None:
    """Create the file unless the name exists: as a hard link or, if links are refused, by exclusive creation."""
    try:
        os.link(temporary, full)
        return
    except OSError as error:
        if error.errno not in _LINKS_REFUSED:
            raise
    with open(full, "xb", opener=_opener(_FILE_MODE)) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            os.unlink(full)
            raise


def _sync_folder(full: str) -> None:
    """Sync the folder of a new file, so that the name survives a power failure. Errors of the sync are ignored."""
    descriptor = os.open(os.path.dirname(full), os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _delete_checksum(full: str) -> None:
    folder, name = os.path.split(full)
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, f".{name}.crc"))


@contextmanager
def translate_errors(operation: str, path: str) -> Iterator[None]:
    """Translate errors of the operating system into errors that name the operation and the path."""
    try:
        yield
    except OSError as error:
        raise _translation(error, operation, path) from error


def _translation(error: OSError, operation: str, path: str) -> StorageError:
    what = f"Cannot {operation} {path or 'the base path'!r}"
    match error.errno:
        case errno.ENOTDIR if operation in _WRITES:
            return StorageError(f"{what}: {error.filename!r} is not a folder.", path=path)
        case errno.ENOENT if operation in _WRITES:
            return ObjectNotFoundError(f"{what}: {error.filename!r} cannot be made.", path=path)
        case errno.ENOENT | errno.ENOTDIR:
            return ObjectNotFoundError(f"{what}: it does not exist.", path=path)
        case errno.EEXIST:
            return ObjectExistsError(f"{what}: it exists already.", path=path)
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return StoragePermissionError(
                f"{what}: {error.strerror}.",
                path=path,
                hint="Give the job's user read and write access below the base path.",
            )
        case errno.ENOSPC | errno.EDQUOT:
            return StorageError(
                f"{what}: {error.strerror}.",
                path=path,
                hint="Free some space and run the request again. The new run cleans up after this run.",
            )
    return StorageError(f"{what}: {error.strerror or error}.", path=path)
