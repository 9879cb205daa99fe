"""Heartbeats: a file per running write whose age tells whether its writer lives (HoodieHeartbeatClient, Hudi 1.2).

Hudi looks only at the time of last change; we also write who the writer is.
"""

import logging
import threading
from types import TracebackType

from hudi_table_services.errors import ObjectNotFoundError, StorageError
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)

HEARTBEATS = ".hoodie/.heartbeat"
_OVER = b"/over"

DEFAULT_INTERVAL_MS = 60_000
"""``hoodie.client.heartbeat.interval_in_ms``"""

DEFAULT_TOLERABLE_MISSES = 2
"""``hoodie.client.heartbeat.tolerable.misses``"""


def heartbeat_path(instant_time: str) -> str:
    """Where the heartbeat of a write is, relative to the base path."""
    return f"{HEARTBEATS}/{instant_time}"


class Heartbeat:
    """Refreshes the heartbeat of one write from a thread until it is stopped; usable as a context manager.

    Args:
        owner: request id of the writer, kept in the file.
        interval_ms: time between refreshes; other writers give up on this one after a small number of them.
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
        """Write the heartbeat, then keep it fresh. Raises StorageError if it cannot be written at all."""
        self._storage.write(self._path, self._content)
        self._thread.start()

    def stop(self) -> None:
        """Remove the heartbeat. Stopping twice, or before the start, is fine."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if not self._is_removed:
            if self._is_ours():
                self._storage.delete(self._path)
            self._is_removed = True

    def abandon(self) -> None:
        """Stop refreshing, and let the tasks of this write see that it is over; the file stays until `stop`."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._is_ours() and not self._content.endswith(_OVER):
            self._content += _OVER
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
        """Whether nobody ended the write, or took it over, since."""
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
    """Request id in the heartbeat; None: there is no heartbeat. Hudi's own heartbeats are empty."""
    try:
        return storage.read(heartbeat_path(instant_time)).decode(errors="replace")
    except ObjectNotFoundError:
        return None


def is_heartbeat_alive(
    storage: Storage,
    instant_time: str,
    clock: Clock,
    *,
    expires_after_ms: int = DEFAULT_INTERVAL_MS * DEFAULT_TOLERABLE_MISSES,
) -> bool:
    """Whether the heartbeat was refreshed lately. Without a file the writer counts as dead, as in Hudi.

    One from the time to come counts as alive until then: its writer may be well, and this machine's clock behind.
    """
    age_ms = heartbeat_age_ms(storage, instant_time, clock)
    return age_ms is not None and age_ms <= expires_after_ms


def heartbeat_age_ms(storage: Storage, instant_time: str, clock: Clock) -> int | None:
    """Milliseconds since the last refresh, below 0 if that is ahead of the clock; None: there is no heartbeat."""
    try:
        refreshed_ms = storage.modified_ms(heartbeat_path(instant_time))
    except ObjectNotFoundError:
        return None
    return int(clock.now().timestamp() * 1000) - refreshed_ms


def has_heartbeat(storage: Storage, instant_time: str) -> bool:
    """Whether nobody has ended the write yet. One whose writer died keeps its heartbeat until it is rolled back."""
    return storage.exists(heartbeat_path(instant_time))


def delete_heartbeat(storage: Storage, instant_time: str) -> None:
    """Remove the heartbeat of a write that is over."""
    storage.delete(heartbeat_path(instant_time))
