"""The table lock of Hudi's StorageBasedLockProvider: an object that writers change only with conditional puts.

A writer acquires the lock by replacing the latest version of the object. The new version contains the expiry time of
the lock, and the writer renews the lock before that time. If a writer died before it released the lock, other writers
can take the lock over only after the expiry time plus a margin for clock differences. No other field of the object
affects the time of the takeover. See docs/adr/0030.
"""

import logging
import threading
import time
import uuid
from contextlib import suppress
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
from hudi_table_services.hudi_format.lock_file import StorageLockFile, decode_lock_file, encode_lock_file
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.locks.lock_rounds import acquire_in_rounds
from hudi_table_services.storage.stores.conditional import ConditionalStorage, ObjectVersion
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)

LOCK_PATH = ".hoodie/.locks/table_lock.json"
_CLOCK_DRIFT_MS = 500
"""Largest difference between the clocks of two writers; Hudi's constant."""
_NO_VERSION = ObjectVersion(e_tag='"00000000000000000000000000000000"', generation="1")
"""A version that no lock has."""

_RELEASE_PAUSES = (0.1, 1.0, 0.0)
"""Seconds to wait after each failed attempt to release the lock."""


class _LockStorage(Storage, ConditionalStorage, Protocol):
    """A storage with conditional puts."""


class StorageBasedLock:
    """``<base>/.hoodie/.locks/table_lock.json``. Each entry of the context manager uses a new owner id.

    Args:
        request_id: id of the request whose job takes the lock. The owner in the lock file contains the id.

    Raises on entry:
        LockNotAcquiredError: another writer held the lock for the whole waiting time.
        MalformedMetadataError: the object is not a valid lock, so it has no expiry time and cannot be taken over.
        InvalidRequestError: the store ignores the conditions of puts. The job checks this once for each table.
    """

    def __init__(
        self,
        storage: _LockStorage,
        options: LockOptions | None = None,
        clock: Clock | None = None,
        request_id: str = "",
    ) -> None:
        self._storage = storage
        self._options = options or LockOptions()
        self._clock = clock or SystemClock()
        self._request_id = request_id
        self._guard = threading.Lock()
        self._held: StorageLockFile | None = None
        self._version: ObjectVersion | None = None
        self._released = threading.Event()
        self._renewer: threading.Thread | None = None

    def __enter__(self) -> "StorageBasedLock":
        if not acquire_in_rounds(self._options, self._try_acquire, self._holder):
            raise LockNotAcquiredError(
                f"{LOCK_PATH} was held by another writer for the whole waiting time: {self._holder()}.",
                path=LOCK_PATH,
                hint="Run the request again later. The lock of a dead writer can be taken over after its validUntil.",
            )
        self._released = threading.Event()
        self._renewer = threading.Thread(target=self._renew_in_time, name="table-lock", daemon=True)
        self._renewer.start()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._released.set()
        if self._renewer is not None:
            self._renewer.join()  # a renewal after the release would be refused and logged as a lost lock
        held, self._held = self._held, None
        if held is None:
            return
        for pause in _RELEASE_PAUSES:
            try:
                if not self._put(_released(held)):
                    _LOG.warning("Another writer has already taken the lock %s over.", LOCK_PATH)
                return
            except StorageError as failure:
                # Do not raise an error: the work under the lock is done. Other writers wait until the lock expires.
                _LOG.warning("The lock %s was not released: %s", LOCK_PATH, failure)
                time.sleep(pause)

    def verify(self) -> None:
        """Renew the lock. The renewal proves that the lock is ours, and a full validity period starts."""
        with self._guard:
            if not self._renew():
                raise LockNotAcquiredError(
                    f"The lock {LOCK_PATH} expired or was taken over by another writer while this writer held it.",
                    path=LOCK_PATH,
                    hint="The job changed nothing after it lost the lock; run the request again.",
                )

    def _try_acquire(self) -> bool:
        present = self._read()
        if present is None:
            self._version = None
        else:
            data, self._version = present
            if self._is_held(_decoded(data)):
                return False
        owner = f"{uuid.uuid4()} {self._request_id}".strip()
        lock = StorageLockFile(is_released=False, valid_until_ms=self._valid_until_ms(), owner=owner)
        if not self._put(lock):
            return False
        if present is None:
            try:
                self._require_conditional_puts(lock)
            except Exception:
                with suppress(StorageError):  # if this write fails, other writers wait until the lock expires
                    self._storage.write(LOCK_PATH, encode_lock_file(_released(lock)))
                raise
        self._held = lock
        return True

    def _require_conditional_puts(self, lock: StorageLockFile) -> None:
        """Refuse a store that ignores the conditions of puts, as some servers with the S3 protocol do.

        The job checks the store once for each table, when it creates the table's lock object. A store that ignores the
        conditions would give the lock to every writer.
        """
        data = encode_lock_file(lock)
        for header, version in (("If-None-Match", None), ("If-Match", _NO_VERSION)):
            try:
                self._storage.put_if(LOCK_PATH, data, version)
            except ObjectExistsError:
                continue
            raise InvalidRequestError(
                f"The store of {self._storage.uri} ignores the condition {header} of a put, so its lock would not "
                "exclude other writers.",
                hint="Use a server that supports conditional writes, such as AWS S3, Azure or Google Cloud Storage.",
            )

    def _is_held(self, lock: StorageLockFile) -> bool:
        if lock.is_released:
            return False
        expired_ms = self._now_ms() - lock.valid_until_ms
        if expired_ms <= _CLOCK_DRIFT_MS:
            return True
        _LOG.warning(
            "Taking over the lock %s, which expired %d s ago: %s", LOCK_PATH, expired_ms // 1000, lock
        )
        return False

    def _renew_in_time(self) -> None:
        while not self._released.wait(self._options.renew_seconds):
            try:
                with self._guard:
                    if not self._renew():
                        _LOG.warning("The lock %s was lost while it was held.", LOCK_PATH)
                        return
            except StorageError as error:
                _LOG.warning("The lock %s was not renewed: %s", LOCK_PATH, error)

    def _renew(self) -> bool:
        """Extend the lock by a whole validity period. Return False if the lock was lost. The caller holds the guard.

        An expired lock is not renewed, even if no other writer has acquired it, because the work after the expiry was
        not protected.
        """
        held = self._held
        if held is None or self._now_ms() > held.valid_until_ms:
            self._held = None
            return False
        lock = StorageLockFile(is_released=False, valid_until_ms=self._valid_until_ms(), owner=held.owner)
        if not self._put(lock):
            self._held = None
            return False
        self._held = lock
        return True

    def _put(self, lock: StorageLockFile) -> bool:
        """Replace the last known version of the object. Return whether the object contains our lock now.

        Raises:
            StorageError: it is unknown whether the put succeeded.
        """
        data = encode_lock_file(lock)
        for may_try_again in (True, False):
            try:
                self._version = self._storage.put_if(LOCK_PATH, data, self._version)
                return True
            except StorageError as error:
                # The put may have succeeded although its response was lost. Owners are unique, so compare the content.
                present = self._read()
                if present is not None and present[0] == data:
                    self._version = present[1]
                    return True
                if may_try_again and present is not None and _belongs_to(lock.owner, present[0]):
                    self._version = present[1]  # the version of an earlier put of ours that seemed to fail
                elif isinstance(error, ObjectExistsError):
                    return False
                else:
                    raise
        return False

    def _read(self) -> tuple[bytes, ObjectVersion] | None:
        try:
            return self._storage.read_versioned(LOCK_PATH)
        except ObjectNotFoundError:
            return None

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)

    def _valid_until_ms(self) -> int:
        return self._now_ms() + self._options.validity_seconds * 1000

    def _holder(self) -> str:
        try:
            present = self._read()
        except StorageError as error:
            return str(error)
        return present[0].decode(errors="replace")[:200] if present else "the lock is free now"


def _belongs_to(owner: str, data: bytes) -> bool:
    try:
        lock = decode_lock_file(data)
    except MalformedMetadataError:
        return False
    return lock.owner == owner and not lock.is_released


def _released(lock: StorageLockFile) -> StorageLockFile:
    return StorageLockFile(is_released=True, valid_until_ms=lock.valid_until_ms, owner=lock.owner)


def _decoded(data: bytes) -> StorageLockFile:
    try:
        return decode_lock_file(data)
    except MalformedMetadataError as error:
        raise MalformedMetadataError(
            f"{LOCK_PATH} is not a valid Hudi lock: {error.message}",
            path=LOCK_PATH,
            hint="No writer can take the lock over. Make sure that no writer is running, then delete the object.",
        ) from error
