"""The table lock: choose the lock provider, and implement the lock of Hudi's file-system lock provider.

Writers of Hudi and of this project respect each other's locks. The file-system lock is a file that only one writer can
create. The age of the file determines whether its writer counts as dead. Locks of Hudi expire after
``hoodie.write.lock.filesystem.expire`` (never, by default). Our own locks expire two minutes after the last refresh. A
crash while a lock is being written can leave a file without a valid lock; this file expires like our own locks.
"""

import json
import logging
import threading
import time
import uuid
from dataclasses import replace
from types import TracebackType
from typing import Protocol

from hudi_table_services.errors import (
    InvalidRequestError,
    LockNotAcquiredError,
    MalformedMetadataError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
)
from hudi_table_services.hudi_format.json_text import decode_json_object
from hudi_table_services.options.keys.locks import LOCK_EXPIRE, LOCK_FOLDER, LOCK_PROVIDER
from hudi_table_services.options.locks import FILE_SYSTEM_PROVIDER, STORAGE_BASED_PROVIDER, LockOptions
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.locks.lock_rounds import acquire_in_rounds
from hudi_table_services.storage.locks.storage_based_lock import StorageBasedLock
from hudi_table_services.storage.stores.conditional import ConditionalStorage
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)

OWNER_NAME = "hudi_table_services"
_REFRESH_SECONDS = 20.0
OWN_LOCK_EXPIRES_MS = 120_000
_RELEASE_PAUSES = (0.1, 1.0, 0.0)
"""Seconds to wait after each failed attempt to release the lock."""


class TableLock(Protocol):
    """A lock that one writer holds at a time. The context manager can be entered again after its exit."""

    def __enter__(self) -> "TableLock": ...

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def verify(self) -> None:
        """Raise LockNotAcquiredError if another writer took the lock over. Call this right before a commit."""


class FileSystemLock:
    """``<base>/.hoodie/lock`` (FileSystemBasedLockProvider, Hudi 1.2).

    Args:
        request_id: id of the request whose job takes the lock. The lock file contains the id, so that people and the
            pages in Airflow can see which job holds the lock.

    Raises on entry:
        LockNotAcquiredError: another writer held the lock for the whole waiting time.
    """

    def __init__(
        self,
        storage: Storage,
        options: LockOptions | None = None,
        clock: Clock | None = None,
        request_id: str = "",
    ) -> None:
        self._storage = storage
        self._options = options or LockOptions()
        self._clock = clock or SystemClock()
        self._request_id = request_id
        self._path = join_path(self._options.folder, "lock")
        self._content = b""
        self._released = threading.Event()
        self._refresher: threading.Thread | None = None
        self._seen: tuple[bytes, int] = (b"", 0)
        self._seen_since = 0.0

    def __enter__(self) -> "FileSystemLock":
        self._acquire()
        self._released = threading.Event()
        self._refresher = threading.Thread(target=self._refresh, name="table-lock", daemon=True)
        self._refresher.start()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._released.set()
        if self._refresher is not None:
            self._refresher.join()  # a refresh after the release would create the lock again
        for pause in _RELEASE_PAUSES:
            try:
                if self._is_ours():
                    self._storage.delete(self._path)
                return
            except StorageError as failure:
                # Do not raise an error: the work under the lock is done. Other writers wait until the lock expires.
                _LOG.warning("The lock %s was not released: %s", self._path, failure)
                time.sleep(pause)

    def verify(self) -> None:
        if not self._is_ours():
            raise LockNotAcquiredError(
                f"The lock {self._path} was taken over by another writer, or removed, while this writer held it.",
                path=self._path,
                hint="The job changed nothing after it lost the lock; run the request again.",
            )

    def _is_ours(self) -> bool:
        try:
            return self._storage.read(self._path) == self._content
        except ObjectNotFoundError:
            return False

    def _acquire(self) -> None:
        if not acquire_in_rounds(self._options, self._try_acquire, self._holder):
            raise LockNotAcquiredError(
                f"{self._path} was held by another writer for the whole waiting time: {self._holder()}.",
                path=self._path,
                hint="Run the request again later. If no other writer is running, the owner of the lock has died: "
                f"delete the file, or set {LOCK_EXPIRE} (minutes).",
            )

    def _try_acquire(self) -> bool:
        self._content = self._new_content()
        for _ in range(2):
            try:
                self._storage.create(self._path, self._content)
                return True
            except ObjectExistsError:
                if not self._remove_abandoned():
                    return False
            except StorageError:
                if not self._is_ours():  # the file may have been created although the call failed
                    raise
                return True
        return False

    def _new_content(self) -> bytes:
        created = self._clock.now()
        lock = {
            "lockCreateTime": created.strftime("%Y-%m-%d %H:%M:%S.") + f"{created.microsecond // 1000:03d}",
            "lockThreadName": f"{OWNER_NAME} {uuid.uuid4().hex} {self._request_id}".strip(),
            "lockStacksInfo": [],
        }
        return json.dumps(lock).encode()

    def _remove_abandoned(self) -> bool:
        """Delete the lock if its writer is dead. Return whether the lock may be free now."""
        try:
            content = self._storage.read(self._path)
            age_ms = self._age_ms(content, self._storage.modified_ms(self._path))
            if age_ms <= self._expires_after_ms(content):
                return False
            # Another writer may have replaced the abandoned lock since the first read; do not delete the new lock.
            if self._storage.read(self._path) == content:
                _LOG.warning(
                    "Removing the lock %s, which has not changed for %d s: %s",
                    self._path,
                    age_ms // 1000,
                    content,
                )
                self._storage.delete(self._path)
        except ObjectNotFoundError:
            pass
        return True

    def _age_ms(self, content: bytes, modified_ms: int) -> int:
        """Return a lower bound of the time since the last change of the lock.

        This is the larger of two lower bounds: the age according to this machine's clock, and the time during which
        this writer has found the lock unchanged. The age according to the clock is too small if the modification time
        is in the future or if this machine's clock was set back.
        """
        if self._seen != (content, modified_ms):
            self._seen, self._seen_since = (content, modified_ms), time.monotonic()
        watched_ms = int((time.monotonic() - self._seen_since) * 1000)
        return max(self._clock_age_ms(modified_ms), watched_ms)

    def _clock_age_ms(self, modified_ms: int) -> int:
        return int(self._clock.now().timestamp() * 1000) - modified_ms

    def _expires_after_ms(self, content: bytes) -> float:
        limits = [float("inf")]
        if self._options.expire_minutes:
            limits.append(self._options.expire_minutes * 60_000)
        if OWNER_NAME.encode() in content or not _is_lock(content):
            limits.append(OWN_LOCK_EXPIRES_MS)
        return min(limits)

    def _refresh(self) -> None:
        while not self._released.wait(_REFRESH_SECONDS):
            try:
                if not self._is_ours():
                    return
                self._storage.write(self._path, self._content)
            except StorageError as error:
                _LOG.warning("The lock %s was not refreshed: %s", self._path, error)

    def _holder(self) -> str:
        try:
            content = self._storage.read(self._path)
            age_ms = self._clock_age_ms(self._storage.modified_ms(self._path))
        except StorageError as error:
            return str(error)
        shown = content.decode(errors="replace")[:300] or "(empty)"
        age = f"{abs(age_ms) // 1000} s {'ago' if age_ms >= 0 else 'ahead of the clock of this machine'}"
        kind = "" if _is_lock(content) else ", which is not a valid lock"
        return f"{shown}{kind}, last changed {age}"


def _is_lock(content: bytes) -> bool:
    """Whether the content is a complete lock. Hudi and this project write a JSON object with the writer's name."""
    try:
        return bool(decode_json_object(content, "the table lock").get("lockThreadName"))
    except MalformedMetadataError:
        return False


def table_lock(
    storage: Storage, options: LockOptions, clock: Clock | None = None, request_id: str = ""
) -> TableLock:
    """Return the lock that the options name, or by default the lock that Hudi supports on this kind of storage.

    The default is also returned if the options name Hudi's in-process lock, because a lock inside one JVM does not
    exclude this process. The lock file contains `request_id`.

    Raises:
        InvalidRequestError: the configured lock does not work on this kind of storage, or the lock's folder is outside
            of the table.
    """
    if _provider(storage, options) == FILE_SYSTEM_PROVIDER:
        if _is_object_store(storage):
            raise InvalidRequestError(
                f"{FILE_SYSTEM_PROVIDER} does not work on the object store {storage.uri}: Hudi refuses it there, and "
                "writers with the storage-based lock would not see its lock file.",
                hint=f"Leave {LOCK_PROVIDER} out, or set it to {STORAGE_BASED_PROVIDER} for all writers of the table.",
            )
        folder = _below_base_path(storage, options.folder)
        return FileSystemLock(storage, replace(options, folder=folder), clock, request_id)
    if not isinstance(storage, ConditionalStorage):
        raise InvalidRequestError(
            f"{STORAGE_BASED_PROVIDER} needs conditional puts, which {storage.uri} does not have.",
            hint=f"Use {FILE_SYSTEM_PROVIDER} for this job and for all other writers of the table.",
        )
    return StorageBasedLock(storage, options, clock, request_id)


def _provider(storage: Storage, options: LockOptions) -> str:
    if options.provider in (FILE_SYSTEM_PROVIDER, STORAGE_BASED_PROVIDER):
        return options.provider
    # Hudi's file-system lock refuses object stores; its storage-based lock accepts only object stores.
    return STORAGE_BASED_PROVIDER if _is_object_store(storage) else FILE_SYSTEM_PROVIDER


def _is_object_store(storage: Storage) -> bool:
    return not storage.uri.startswith(("file:", "memory:", "hdfs:"))


def _below_base_path(storage: Storage, folder: str) -> str:
    """Return the lock's folder relative to the base path. Hudi's writers configure an absolute path.

    Raises:
        InvalidRequestError: the folder is outside of the base path. This writer can access only the base path.
    """
    if not folder.startswith("/") and ":" not in folder:
        return folder.strip("/")
    for base in (storage.base_path, storage.uri):
        if folder.startswith(base.rstrip("/") + "/"):
            return folder[len(base.rstrip("/")) :].strip("/")
    raise InvalidRequestError(
        f"{LOCK_FOLDER}={folder} is not below the base path {storage.base_path}.",
        hint="Configure all writers of the table to use a lock folder below the base path.",
    )
