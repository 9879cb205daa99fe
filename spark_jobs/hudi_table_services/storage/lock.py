"""Table lock."""

import json
import time

from hudi_table_services.errors import LockNotAcquiredError, ObjectExistsError, ObjectNotFoundError
from hudi_table_services.storage.storage import Storage


class FileSystemLock:
    def __init__(self, storage: Storage, *, path: str = ".hoodie/lock", wait_seconds: float = 60.0, expire_minutes: float = 5.0) -> None:
        self._storage, self._path, self._wait, self._expire_ms = storage, path, wait_seconds, expire_minutes * 60000

    def __enter__(self) -> "FileSystemLock":
        deadline = time.monotonic() + self._wait
        content = json.dumps({"lockCreateTime": time.strftime("%Y-%m-%d %H:%M:%S.000"), "lockThreadName": "hudi_table_services", "lockStacksInfo": []}).encode()
        while True:
            try:
                self._storage.create(self._path, content)
                return self
            except ObjectExistsError:
                try:
                    if time.time() * 1000 - self._storage.modified_ms(self._path) > self._expire_ms:
                        self._storage.delete(self._path)
                        continue
                except ObjectNotFoundError:
                    continue
                if time.monotonic() > deadline:
                    raise LockNotAcquiredError(f"{self._path} is held by another writer.") from None
                time.sleep(0.1)

    def __exit__(self, *_: object) -> None:
        self._storage.delete(self._path)


TableLock = FileSystemLock


def table_lock(storage, options):
    return FileSystemLock(storage)
