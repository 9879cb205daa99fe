"""HDFS through hdfs-native: exclusive creation by rename, real folders, no conditional puts."""

import io
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from hdfs_native import Client, WriteOptions

from hudi_table_services.errors import InvalidRequestError, ObjectNotFoundError, StorageError
from hudi_table_services.storage.stores.hdfs_errors import (
    AUTHENTICATION,
    NOT_EMPTY,
    failure_of,
    translate_errors,
)
from hudi_table_services.storage.stores.paths import TEMPORARY_PREFIX, checked_path, file_name
from hudi_table_services.storage.stores.storage import BY_PATH, FolderListing, StoredObject, delete_one_by_one
from hudi_table_services.storage.stores.streams import RangeReader, Upload

_BUFFER_BYTES = 1024 * 1024
_PRINCIPAL = "kerberos_principal"
_KERBEROS = (_PRINCIPAL, "kerberos_keytab", "kerberos_cache")
_HADOOP_PREFIXES = ("dfs.", "fs.", "hadoop.", "ipc.")


@dataclass(frozen=True, slots=True)
class HdfsStorage:
    """A table below a folder of HDFS. See `Storage` for the guarantees of each operation.

    HDFS shows a file with length 0 from its creation until its writer closes the file. Therefore `create` and `write`
    write a temporary file in the same folder, and rename it. A rename without overwriting is atomic and exclusive.

    Attributes:
        uri: base path with the scheme, and with the address of the file system unless Hadoop's configuration contains
            it.
        settings: configuration of Hadoop, and the settings ``kerberos_principal``, ``kerberos_keytab`` and
            ``kerberos_cache``, as sorted pairs. An unpickled storage connects again.
    """

    uri: str
    settings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def open(cls, uri: str, options: Mapping[str, str]) -> "HdfsStorage":
        """Create the storage of a URI; no request is sent yet.

        Args:
            options: keys of Hadoop's configuration, such as ``dfs.ha.namenodes.lake``, and the settings for Kerberos.
                Absent keys come from the files in ``HADOOP_CONF_DIR``. With a setting for Kerberos, the client uses
                Kerberos even if these files do not require it.

        Raises:
            InvalidRequestError: a setting is unknown, or the principal of a keytab or of a cache is missing.
        """
        unknown = [key for key in options if key not in _KERBEROS and not key.startswith(_HADOOP_PREFIXES)]
        if unknown:
            raise InvalidRequestError(
                f"HDFS has no setting {sorted(unknown)[0]!r}.",
                hint=f"Give keys of Hadoop's configuration, which begin with dfs., fs., hadoop. or ipc., or "
                f"{', '.join(_KERBEROS)}.",
            )
        given = [key for key in _KERBEROS if key in options]
        if given and _PRINCIPAL not in given:
            raise InvalidRequestError(
                f"The storage option {given[0]} needs {_PRINCIPAL}.",
                hint=f"Set {_PRINCIPAL} to the principal of the keytab or cache, such as etl@LAKE.EXAMPLE.",
            )
        return cls(uri.rstrip("/"), tuple(sorted(options.items())))

    @property
    def base_path(self) -> str:
        return self.uri

    def read(self, path: str) -> bytes:
        with translate_errors("read", path):
            return bytes(self._client.read(self._full(path)).read())

    def size(self, path: str) -> int:
        return int(self._file(path, "read the size of").length)

    def modified_ms(self, path: str) -> int:
        return int(self._file(path, "read the age of").modification_time)

    def exists(self, path: str) -> bool:
        try:
            self._file(path, "check")
        except ObjectNotFoundError:
            return False
        return True

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        found = (self._stored(each) for each in self._list(folder, recursive=True) if not each.isdir)
        yield from sorted((each for each in found if not _is_temporary(each.name)), key=BY_PATH)

    def list_folder(self, folder: str = "") -> FolderListing:
        listed = self._list(folder, recursive=False)
        files = (self._stored(each) for each in listed if not each.isdir)
        return FolderListing(
            tuple(sorted((each for each in files if not _is_temporary(each.name)), key=BY_PATH)),
            tuple(sorted(file_name(each.path) for each in listed if each.isdir)),
        )

    def create(self, path: str, data: bytes) -> None:
        full = self._full(path)
        with translate_errors("create", path):
            if not data:
                # An empty file is complete as soon as it exists.
                self._client.create(full, WriteOptions(overwrite=False)).close()
                return
        self._write_and_rename(path, data, overwrite=False)

    def write(self, path: str, data: bytes) -> None:
        self._write_and_rename(path, data, overwrite=True)

    def _write_and_rename(self, path: str, data: bytes, *, overwrite: bool) -> None:
        full = self._full(path)
        temporary = f"{full.rpartition('/')[0]}/{TEMPORARY_PREFIX}{uuid.uuid4().hex}"
        with translate_errors("write" if overwrite else "create", path):
            if not overwrite and self._has(full):
                raise FileExistsError(
                    full
                )  # raised before the temporary file is written, because closing a file is slow
            try:
                with self._client.create(temporary, WriteOptions(overwrite=False)) as file:
                    file.write(data)
                self._client.rename(temporary, full, overwrite)
            except BaseException:
                with suppress(Exception):
                    self._client.delete(temporary)
                raise

    def delete(self, path: str) -> bool:
        with translate_errors("delete", path):
            return bool(self._client.delete(self._full(path)))

    def delete_files(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        return delete_one_by_one(self, paths)

    def delete_folder(self, folder: str) -> None:
        with translate_errors("delete folder", folder):
            self._client.delete(self._full(folder), recursive=True)

    def delete_empty_folders(self, folder: str) -> None:
        with translate_errors("delete empty folder", folder):
            while True:
                try:
                    if self._is_folder(folder):
                        self._client.delete(self._full(folder))
                except RuntimeError as error:
                    if failure_of(error).java_class == NOT_EMPTY:
                        return
                    raise
                folder = folder.rpartition("/")[0]
                if not folder:
                    return

    def has_folder(self, folder: str) -> bool:
        with translate_errors("check", folder):
            return self._is_folder(folder)

    def make_folder(self, folder: str) -> None:
        with translate_errors("make folder", folder):
            self._client.mkdirs(self._full(folder), create_parent=True)

    def open_reader(self, path: str) -> BinaryIO:
        with translate_errors("open", path):
            file = self._client.read(self._full(path))

        def read_range(start: int, length: int) -> Any:
            with translate_errors("read", path):
                return file.read_range(start, length)

        return cast(BinaryIO, io.BufferedReader(RangeReader(len(file), read_range), _BUFFER_BYTES))

    def open_writer(self, path: str) -> BinaryIO:
        with translate_errors("write", path):
            file = self._client.create(self._full(path), WriteOptions(overwrite=True))
        translated = translate_errors("write", path)  # a context manager that is also a decorator
        raw = Upload(translated(file.write), translated(file.close))
        return cast(BinaryIO, io.BufferedWriter(raw, _BUFFER_BYTES))

    @property
    def _client(self) -> Client:
        return _client(os.getpid(), urlsplit(self.uri).netloc, self.settings)

    def _full(self, path: str) -> str:
        root = self.uri.partition("://")[2].partition("/")[2]
        return "/" + "/".join(part for part in (root, checked_path(path)) if part)

    def _has(self, full: str) -> bool:
        try:
            self._client.get_file_info(full)
        except FileNotFoundError:
            return False
        return True

    def _is_folder(self, folder: str) -> bool:
        try:
            return bool(self._client.get_file_info(self._full(folder)).isdir)
        except FileNotFoundError:
            return False

    def _file(self, path: str, operation: str) -> Any:
        """Status of a file. Raises ObjectNotFoundError if the file does not exist or is a folder."""
        with translate_errors(operation, path):
            found = self._client.get_file_info(self._full(path))
            if found.isdir:
                raise FileNotFoundError(path)
            return found

    def _list(self, folder: str, *, recursive: bool) -> list[Any]:
        full = self._full(folder)
        try:
            with translate_errors("list", folder):
                listed = list(self._client.list_status(full, recursive))
        except ObjectNotFoundError:
            return []
        return [each for each in listed if each.path != full]  # the listing of a file contains only the file

    def _stored(self, status: Any) -> StoredObject:
        root = self._full("")
        path = status.path[len(root) :].lstrip("/") if root != "/" else status.path.lstrip("/")
        return StoredObject(path, int(status.length), int(status.modification_time))


@lru_cache(maxsize=64)
def _client(process: int, address: str, settings: tuple[tuple[str, str], ...]) -> Client:
    """Return the client of a file system. A forked process must not use the connections of its parent.

    Raises:
        InvalidRequestError: the address or a setting is not valid.
    """
    kerberos = {key: value for key, value in settings if key in _KERBEROS}
    config = {key: value for key, value in settings if key not in _KERBEROS}
    if kerberos:  # the client ignores credentials without this setting
        config.setdefault(AUTHENTICATION, "kerberos")
    try:
        return Client(f"hdfs://{address}" if address else None, config or None, **kerberos)
    except Exception as error:
        where = f"hdfs://{address}" if address else "the default file system of Hadoop's configuration"
        raise InvalidRequestError(
            f"The client of {where} cannot be created: {failure_of(error).reason}.",
            hint="Check the address, the storage options and the files in HADOOP_CONF_DIR.",
        ) from error


def _is_temporary(name: str) -> bool:
    return name.startswith(TEMPORARY_PREFIX)
