"""Heartbeats: a file per running write whose age tells whether its writer lives (HoodieHeartbeatClient)."""

import logging
import threading

from hudi_table_services.errors import ObjectNotFoundError, StorageError
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.storage import Storage

_LOG = logging.getLogger(__name__)
INTERVAL_SECONDS = 60.0
TOLERABLE_MISSES = 2


def heartbeat_path(instant_time: str) -> str:
    return f".hoodie/.heartbeat/{instant_time}"


class Heartbeat:
    def __init__(self, storage: Storage, instant_time: str, *, owner: str, interval_seconds: float = INTERVAL_SECONDS) -> None:
        self._storage, self._path, self._owner = storage, heartbeat_path(instant_time), owner.encode()
        self._interval, self._stop = interval_seconds, threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat-{instant_time}", daemon=True)

    def start(self) -> None:
        self._storage.write(self._path, self._owner)
        self._thread.start()

    def stop(self) -> None:
        if self._stop.is_set():
            return
        self._stop.set()
        self._thread.join()
        self._storage.delete(self._path)

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self._storage.write(self._path, self._owner)
            except StorageError as error:
                _LOG.warning("Heartbeat %s was not refreshed: %s", self._path, error)


def read_heartbeat_owner(storage: Storage, instant_time: str) -> str | None:
    try:
        return storage.read(heartbeat_path(instant_time)).decode()
    except ObjectNotFoundError:
        return None


def is_heartbeat_alive(storage: Storage, instant_time: str, clock: Clock) -> bool:
    try:
        age_ms = clock.now().timestamp() * 1000 - storage.modified_ms(heartbeat_path(instant_time))
    except ObjectNotFoundError:
        return False
    return age_ms <= INTERVAL_SECONDS * 1000 * TOLERABLE_MISSES
