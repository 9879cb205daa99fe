"""Storage in the memory of this process, for tests and experiments."""

import io
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from hudi_table_services.errors import ObjectExistsError, ObjectNotFoundError, StorageError
from hudi_table_services.storage.stores.conditional import ObjectVersion
from hudi_table_services.storage.stores.paths import checked_path
from hudi_table_services.storage.stores.storage import BY_PATH, FolderListing, StoredObject, delete_one_by_one


@dataclass(slots=True)
class _Namespace:
    """Objects of one storage name.

    Attributes:
        objects: maps each path to the content and the time of last change in epoch milliseconds.
        versions: maps each path to the number of the put that wrote the content.
        puts: number of all puts so far.
    """

    objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    puts: int = 0
    guard: threading.Lock = field(default_factory=threading.Lock)

    def put(self, path: str, data: bytes) -> None:
        """Store an object. The caller holds the guard."""
        self.puts += 1
        self.objects[path] = (bytes(data), time.time_ns() // 1_000_000)
        self.versions[path] = self.puts


_NAMESPACES: dict[str, _Namespace] = {}
_NAMESPACES_GUARD = threading.Lock()


@dataclass(frozen=True, slots=True)
class MemoryStorage:
    """Objects under a storage name.

    All instances with the same name in this process share the objects. Other processes do not see the objects. Like
    an object store, this storage has no folders. See `Storage` for the guarantees of each operation.
    """

    name: str

    @property
    def uri(self) -> str:
        return f"memory://{self.name}"

    @property
    def base_path(self) -> str:
        return self.uri

    @property
    def _namespace(self) -> _Namespace:
        with _NAMESPACES_GUARD:
            return _NAMESPACES.setdefault(self.name, _Namespace())

    def _object(self, operation: str, path: str) -> tuple[bytes, int]:
        try:
            return self._namespace.objects[checked_path(path)]
        except KeyError:
            raise ObjectNotFoundError(f"Cannot {operation} {path!r}: it does not exist.", path=path) from None

    def read(self, path: str) -> bytes:
        return self._object("read", path)[0]

    def size(self, path: str) -> int:
        return len(self._object("read the size of", path)[0])

    def modified_ms(self, path: str) -> int:
        return self._object("read the age of", path)[1]

    def exists(self, path: str) -> bool:
        return checked_path(path) in self._namespace.objects

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        prefix = f"{checked_path(folder)}/" if folder else ""
        namespace = self._namespace
        with namespace.guard:
            found = [
                StoredObject(path, len(data), modified_ms)
                for path, (data, modified_ms) in namespace.objects.items()
                if path.startswith(prefix)
            ]
        return iter(sorted(found, key=BY_PATH))

    def list_folder(self, folder: str = "") -> FolderListing:
        skipped = len(folder) + 1 if folder else 0
        below = [(stored, stored.path[skipped:]) for stored in self.list_files(folder)]
        files = tuple(stored for stored, rest in below if "/" not in rest)
        folders = {rest.partition("/")[0] for _, rest in below if "/" in rest}
        return FolderListing(files, tuple(sorted(folders)))

    def create(self, path: str, data: bytes) -> None:
        self._put(path, data, exclusive=True)

    def write(self, path: str, data: bytes) -> None:
        self._put(path, data, exclusive=False)

    def _put(self, path: str, data: bytes, *, exclusive: bool) -> None:
        namespace = self._namespace
        with namespace.guard:
            if exclusive and path in namespace.objects:
                raise ObjectExistsError(f"Cannot create {path!r}: it exists already.", path=path)
            namespace.put(checked_path(path), data)

    def read_versioned(self, path: str) -> tuple[bytes, ObjectVersion]:
        with self._namespace.guard:
            return self._object("read", path)[0], self._version(path)

    def put_if(self, path: str, data: bytes, expected: ObjectVersion | None) -> ObjectVersion:
        namespace = self._namespace
        with namespace.guard:
            present = self._version(path) if path in namespace.objects else None
            if present != expected:
                raise ObjectExistsError(
                    f"Cannot put {path!r}: the object does not have the expected version.", path=path
                )
            namespace.put(checked_path(path), data)
            return self._version(path)

    def _version(self, path: str) -> ObjectVersion:
        return ObjectVersion(str(self._namespace.versions[path]))

    def delete(self, path: str) -> bool:
        namespace = self._namespace
        with namespace.guard:
            return namespace.objects.pop(checked_path(path), None) is not None

    def delete_files(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        return delete_one_by_one(self, paths)

    def delete_folder(self, folder: str) -> None:
        for stored in self.list_files(folder):
            self.delete(stored.path)

    def delete_empty_folders(self, folder: str) -> None:
        checked_path(folder)

    def has_folder(self, folder: str) -> bool:
        checked_path(folder)
        return False

    def make_folder(self, folder: str) -> None:
        checked_path(folder)

    def open_reader(self, path: str) -> BinaryIO:
        return io.BytesIO(self.read(path))

    def open_writer(self, path: str) -> BinaryIO:
        return _MemoryWriter(self, checked_path(path))


class _MemoryWriter(io.BytesIO):
    """A stream whose content becomes visible when it is closed."""

    def __init__(self, storage: MemoryStorage, path: str) -> None:
        super().__init__()
        self._storage = storage
        self._path = path

    def close(self) -> None:
        if not self.closed:
            self._storage.write(self._path, self.getvalue())
        super().close()
