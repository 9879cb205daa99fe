"""Heartbeats: one file per running write; its age shows whether the writer is alive (HoodieHeartbeatClient, Hudi 1.2).

Hudi reads only the modification time; this project also writes the writer's request id into the file.
"""

import logging
import threading
from types import TracebackType

from hudi_table_services.errors import ObjectNotFoundError, StorageError
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)

HEARTBEATS = ".hoodie/.heartbeat"
_ENDED = b"/over"

DEFAULT_INTERVAL_MS = 60_000
"""``hoodie.client.heartbeat.interval_in_ms``"""

DEFAULT_TOLERABLE_MISSES = 2
"""``hoodie.client.heartbeat.tolerable.misses``"""

HEARTBEAT_EXPIRES_AFTER_MS = DEFAULT_INTERVAL_MS * DEFAULT_TOLERABLE_MISSES
"""Age in milliseconds above which a heartbeat is not fresh, with Hudi's defaults."""


def heartbeat_path(instant_time: str) -> str:
    """Path of the heartbeat of a write, relative to the base path."""
    return f"{HEARTBEATS}/{instant_time}"


class Heartbeat:
    """The heartbeat of one write. A thread refreshes it until `stop` is called. A `with` block starts and stops it.

    Args:
        owner: request id of the writer, written into the file.
        interval_ms: time between refreshes. After a few missed refreshes other writers treat this writer as dead.
    """

    def __init__(
        self, storage: Storage, instant_time: str, *, owner: str, interval_ms: int = DEFAULT_INTERVAL_MS
    ) -> None:
        self._storage = storage
        self._path = heartbeat_path(instant_time)
        self._content = owner.encode()
        self._interval_seconds = interval_ms / 1000
        self._stopping = threading.Event()
        self._is_removed = False
        self._thread = threading.Thread(target=self._refresh, name=f"heartbeat-{instant_time}", daemon=True)

    def start(self) -> None:
        """Write the heartbeat, then refresh it from the thread. Raises StorageError if the first write fails."""
        self._storage.write(self._path, self._content)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and remove the heartbeat. May be called more than once, and before `start`."""
        self.stop_refreshing()
        if not self._is_removed:
            if self._is_ours():
                self._storage.delete(self._path)
            self._is_removed = True

    def stop_refreshing(self) -> None:
        """Keep the file as it is, so that the heartbeat expires."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def abandon(self) -> None:
        """Stop refreshing and mark the heartbeat as ended, so that Spark tasks of this write end. The file is kept."""
        self.stop_refreshing()
        if self._is_ours() and not self._content.endswith(_ENDED):
            self._content += _ENDED
            self._storage.write(self._path, self._content)

    def __enter__(self) -> "Heartbeat":
        self.start()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _is_ours(self) -> bool:
        """Whether the file still has our content. If not, another writer has ended this write or taken it over."""
        try:
            return self._storage.read(self._path) == self._content
        except ObjectNotFoundError:
            return False

    def _refresh(self) -> None:
        while not self._stopping.wait(self._interval_seconds):
            try:
                if not self._is_ours():
                    _LOG.warning(
                        "Another writer ended or took over this write: see the heartbeat %s.", self._path
                    )
                    return
                self._storage.write(self._path, self._content)
            except StorageError as error:
                _LOG.warning("The heartbeat %s was not refreshed: %s", self._path, error)


def read_heartbeat_owner(storage: Storage, instant_time: str) -> str | None:
    """Request id in the heartbeat; None if there is no heartbeat. Hudi's own heartbeats are empty."""
    try:
        return storage.read(heartbeat_path(instant_time)).decode(errors="replace")
    except ObjectNotFoundError:
        return None


def is_heartbeat_alive(
    storage: Storage,
    instant_time: str,
    clock: Clock,
    *,
    expires_after_ms: int = HEARTBEAT_EXPIRES_AFTER_MS,
) -> bool:
    """Whether the heartbeat was refreshed recently. If there is no file, the writer counts as dead, as in Hudi.

    A heartbeat with a modification time in the future counts as fresh, because this machine's clock may be slow.
    """
    age_ms = heartbeat_age_ms(storage, instant_time, clock)
    return age_ms is not None and age_ms <= expires_after_ms


def heartbeat_age_ms(storage: Storage, instant_time: str, clock: Clock) -> int | None:
    """Milliseconds since the last refresh; negative if that time is in the future, None if there is no heartbeat."""
    try:
        refreshed_ms = storage.modified_ms(heartbeat_path(instant_time))
    except ObjectNotFoundError:
        return None
    return int(clock.now().timestamp() * 1000) - refreshed_ms


def has_heartbeat(storage: Storage, instant_time: str) -> bool:
    """Whether the write has a heartbeat file. If the writer died, the file stays until the write is rolled back."""
    return storage.exists(heartbeat_path(instant_time))


def delete_heartbeat(storage: Storage, instant_time: str) -> None:
    """Delete the heartbeat of a write that has ended."""
    storage.delete(heartbeat_path(instant_time))
