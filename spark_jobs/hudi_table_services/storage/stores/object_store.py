"""Object stores (S3, GCS, Azure) through obstore: conditional puts, no folders, no rename, no append."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

import obstore
from obstore import exceptions
from obstore.store import ObjectStore, from_url

from hudi_table_services.errors import (
    InvalidRequestError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoragePermissionError,
)
from hudi_table_services.storage.stores.conditional import ObjectVersion
from hudi_table_services.storage.stores.folder_markers import without_folder_markers
from hudi_table_services.storage.stores.paths import checked_path, file_name
from hudi_table_services.storage.stores.storage import BY_PATH, FolderListing, StoredObject, delete_one_by_one
from hudi_table_services.storage.stores.streams import RangeReader, Upload

CLIENT_SETTINGS = (
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "http1_only",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_url",
    "timeout",
    "user_agent",
)
"""Settings of obstore's HTTP client; all other settings belong to the store."""

_READ_BUFFER_BYTES = 1024 * 1024
_TAIL_BYTES = 512 * 1024
"""Bytes that the first request for a file reads: enough for most footers, and for whole files of small writes."""

_DELETE_BATCH = 1000

_DENIED = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)
_DENIED_STATUS = re.compile(r"status code: 40[13]\b")
"""obstore raises a GenericError for a refused listing. Its message contains the HTTP status of the response."""

_EXPIRED_CODE = "<Code>ExpiredToken</Code>"
"""If the temporary credentials of a request have expired, S3 answers with status 400 and this code."""

_AZURE_SCHEMES = ("az:", "azure:", "abfs:", "abfss:", "adl:")
_ENDPOINTS = ("endpoint", "endpoint_url")


@dataclass(frozen=True, slots=True)
class ObjectStoreStorage:
    """A table below a prefix of an object store. See `Storage` for the guarantees of each operation.

    Attributes:
        uri: base path with scheme and bucket.
        store: obstore's store with the prefix applied. An unpickled store has the same settings and connects again.
    """

    uri: str
    store: ObjectStore

    @classmethod
    def open(cls, uri: str, options: Mapping[str, str]) -> "ObjectStoreStorage":
        """Create the client for the store of a URI; no request is sent yet.

        Args:
            options: settings of obstore, such as ``aws_endpoint``, ``aws_region`` or ``aws_access_key_id``, and
                settings of its HTTP client, such as ``allow_http`` (`CLIENT_SETTINGS`). Absent settings come from the
                environment.

        Raises:
            InvalidRequestError: the URI's scheme or a setting is unknown, or an endpoint is not a plain URL.
        """
        for name in sorted(options):
            if name.lower().endswith(_ENDPOINTS) and "use_" not in name.lower():
                _check_endpoint(name, options[name])
        try:
            client = {name: value for key, value in options.items() if (name := _client_setting(key))}
            own = {key: value for key, value in options.items() if not _client_setting(key)}
            store = from_url(uri, config=cast(Any, own), client_options=cast(Any, client or None))
        except (exceptions.BaseError, ValueError) as error:
            # The values of settings may be secret, so the message contains only the names.
            raise InvalidRequestError(
                f"Storage of {uri!r} cannot be opened with the settings {sorted(options)}.",
                hint="Supported schemes: file, hdfs, memory, s3/s3a, gs, abfs/abfss/az. The settings must be settings "
                "of obstore.",
            ) from error
        return cls(uri.rstrip("/"), store)

    @property
    def base_path(self) -> str:
        return self.uri

    def read(self, path: str) -> bytes:
        with translate_errors("read", path):
            return bytes(obstore.get(self.store, checked_path(path)).bytes())

    def size(self, path: str) -> int:
        with translate_errors("read the size of", path):
            return int(obstore.head(self.store, checked_path(path))["size"])

    def modified_ms(self, path: str) -> int:
        with translate_errors("read the age of", path):
            return _stored(obstore.head(self.store, checked_path(path))).modified_ms

    def exists(self, path: str) -> bool:
        try:
            self.size(path)
        except ObjectNotFoundError:
            return False
        return True

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        found: list[StoredObject] = []
        with translate_errors("list", folder):
            for chunk in obstore.list(self.store, checked_path(folder) or None):
                found += map(_stored, chunk)
        found.sort(key=BY_PATH)
        return iter(without_folder_markers(found, checked_path(folder), self.exists))

    def list_folder(self, folder: str = "") -> FolderListing:
        with translate_errors("list", folder):
            listing = obstore.list_with_delimiter(self.store, checked_path(folder) or None)
        found = map(_stored, listing["objects"])
        # The listing shows the markers of sub-folders as prefixes, so only the marker of this folder is left out here.
        files = sorted((each for each in found if each.path != checked_path(folder)), key=BY_PATH)
        folders = sorted(file_name(prefix.rstrip("/")) for prefix in listing["common_prefixes"])
        return FolderListing(tuple(files), tuple(folders))

    def create(self, path: str, data: bytes) -> None:
        with translate_errors("create", path):
            obstore.put(self.store, self._writable(path), data, mode="create", use_multipart=False)

    def write(self, path: str, data: bytes) -> None:
        with translate_errors("write", path):
            obstore.put(self.store, self._writable(path), data)

    def read_versioned(self, path: str) -> tuple[bytes, ObjectVersion]:
        with translate_errors("read", path):
            found = obstore.get(self.store, checked_path(path))
            return bytes(found.bytes()), _version(found.meta)

    def put_if(self, path: str, data: bytes, expected: ObjectVersion | None) -> ObjectVersion:
        mode: Any = "create"
        if expected is not None:
            both = {"e_tag": expected.e_tag, "version": expected.generation}
            mode = {key: value for key, value in both.items() if value}
        try:
            with translate_errors("put", path):
                put = obstore.put(self.store, checked_path(path), data, mode=mode, use_multipart=False)
        except (ObjectNotFoundError, ObjectExistsError) as error:
            # S3 answers "no such key" if the object to be replaced no longer exists.
            raise ObjectExistsError(
                f"Cannot put {path!r}: the object does not have the expected version.", path=path
            ) from error
        except NotImplementedError as error:
            raise StorageError(
                f"Cannot put {path!r}: {self.uri} has no conditional puts.", path=path
            ) from error
        return _version(put)

    def delete(self, path: str) -> bool:
        try:
            with translate_errors("delete", path):
                obstore.delete(self.store, checked_path(path))
        except ObjectNotFoundError:
            return False
        return True

    def delete_files(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        failures: dict[str, StorageError] = {}
        for first in range(0, len(paths), _DELETE_BATCH):
            batch = [checked_path(path) for path in paths[first : first + _DELETE_BATCH]]
            try:
                with translate_errors("delete", batch[0]):
                    obstore.delete(self.store, batch)
            except StorageError:
                failures.update(delete_one_by_one(self, batch))  # finds out which files cannot be deleted
        return failures

    def delete_folder(self, folder: str) -> None:
        # GCS and Azure answer "no such object" if another process has deleted an object since the listing, or if the
        # client repeats a deletion whose answer was lost. `delete_files` ignores missing files.
        failures = self.delete_files([stored.path for stored in self.list_files(folder)])
        for error in failures.values():
            raise error

    def delete_empty_folders(self, folder: str) -> None:
        checked_path(folder)

    def has_folder(self, folder: str) -> bool:
        checked_path(folder)
        return False

    def make_folder(self, folder: str) -> None:
        checked_path(folder)

    def open_reader(self, path: str) -> BinaryIO:
        def read_range(start: int, length: int) -> Any:
            with translate_errors("read", path):
                return obstore.get_range(self.store, path, start=start, length=length)

        size, tail = self._size_and_tail(checked_path(path))
        return cast(BinaryIO, io.BufferedReader(RangeReader(size, read_range, tail), _READ_BUFFER_BYTES))

    def _size_and_tail(self, path: str) -> tuple[int, bytes]:
        """Return the size of an object and its last bytes, which hold the footer, or the whole content if it is small.

        One request returns both. Azure has no request for the last bytes, some other stores refuse this request, and
        all stores refuse it for an empty object; then a request for the size alone follows, and the last bytes are
        empty. If the store does not answer at all, the request for the size raises the error.
        """
        if self.uri.startswith(_AZURE_SCHEMES):
            return self.size(path), b""
        try:
            with translate_errors("read", path):
                found = obstore.get(self.store, path, options={"range": {"suffix": _TAIL_BYTES}})
                return int(found.meta["size"]), bytes(found.bytes())
        except (ObjectNotFoundError, StoragePermissionError):
            raise
        except StorageError:
            return self.size(path), b""

    def open_writer(self, path: str) -> BinaryIO:
        with translate_errors("write", path):
            upload = obstore.open_writer(self.store, self._writable(path))
        translated = translate_errors("write", path)  # a context manager that is also a decorator
        return cast(BinaryIO, Upload(translated(upload.write), translated(upload.close)))

    def _writable(self, path: str) -> str:
        """Return the path of a new object. Raises InvalidRequestError if the store would change the name."""
        if "\\" in path and self.uri.startswith(_AZURE_SCHEMES):
            raise InvalidRequestError(
                f"Azure stores the name {path!r} with '/' instead of each backslash.",
                hint="Use partition values without a backslash, or set hoodie.datasource.write.partitionpath.urlencode="
                "true when you create the table.",
            )
        return checked_path(path)


def _version(found: Mapping[str, Any]) -> ObjectVersion:
    return ObjectVersion(e_tag=found["e_tag"] or "", generation=found["version"] or "")


def _stored(meta: Mapping[str, Any]) -> StoredObject:
    modified_ms = int(meta["last_modified"].timestamp() * 1000)
    return StoredObject(str(meta["path"]), int(meta["size"]), modified_ms)


def _check_endpoint(name: str, url: str) -> None:
    """Refuse an endpoint that is not a plain URL.

    For such an endpoint, obstore would abort the process and print the whole value, including any credentials.
    """
    try:
        parts = urlsplit(url)
        is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        is_plain = False
    if not is_plain or any(character.isspace() or not character.isprintable() for character in url):
        raise InvalidRequestError(
            f"The setting {name} is not a plain URL.",
            hint="Write http://host:port or https://host. Pass credentials as separate settings.",
        )


def _access_hint(operation: str) -> str:
    """Return advice about missing access. Stores refuse a request without credentials in the same way."""
    reads = operation.startswith(("read", "list", "open"))
    access = "read access to the base path" if reads else "read, write and delete access below the base path"
    return (
        f"Give the job's identity {access}. If the job has no credentials, set them in the environment or with storage "
        "options."
    )


@contextmanager
def translate_errors(operation: str, path: str) -> Iterator[None]:
    """Translate obstore's errors into errors that name the operation and the path."""
    what = f"Cannot {operation} {path or 'the base path'!r}"
    try:
        yield
    except FileNotFoundError as error:
        raise ObjectNotFoundError(f"{what}: it does not exist.", path=path) from error
    except (exceptions.AlreadyExistsError, exceptions.PreconditionError) as error:
        raise ObjectExistsError(f"{what}: it exists already.", path=path) from error
    except (exceptions.BaseError, OSError) as error:
        # Only the first line of obstore's message is meant for users; the rest is a debug dump.
        reason = str(error).partition("\n")[0]
        if isinstance(error, _DENIED) or _DENIED_STATUS.search(reason):
            raise StoragePermissionError(
                f"{what}: permission denied.",
                path=path,
                hint=_access_hint(operation),
            ) from error
        if _EXPIRED_CODE in reason:
            raise StorageError(
                f"{what}: the temporary credentials have expired.",
                path=path,
                hint="Use credentials that are valid for longer than the job runs. The job renews the credentials of "
                "an instance role or a workload identity, but not those in storage options or in a connection.",
            ) from error
        raise StorageError(f"{what}: {reason}.", path=path) from error


def _client_setting(key: str) -> str:
    """Name of the HTTP client setting for a key with or without a store's prefix; empty for all other keys."""
    name = next((key.removeprefix(p) for p in ("aws_", "azure_", "google_") if key.startswith(p)), key)
    return name if name in CLIENT_SETTINGS else ""
