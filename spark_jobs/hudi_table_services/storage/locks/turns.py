"""The writer queue in the table's storage: it lets the tasks of one Airflow installation write one after another.

The first request in the queue has the *turn*: its task writes, and the tasks of the other requests wait. The queue
avoids conflicts that would waste work. It does not prevent concurrent writes: only the table lock and the conflict
check protect the table.

The queue belongs to this project; Hudi does not read ``.hoodie/.aux/airflow``.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hudi_table_services.errors import ObjectExistsError, ObjectNotFoundError, StorageError
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage, StoredObject

FOLDER = ".hoodie/.aux/airflow"
EXPIRY_S = 180.0
"""A request loses its place after this many seconds without a refresh."""

_REFRESH_S = 30.0
_HOLDER = f"{FOLDER}/writing"
_QUEUE = f"{FOLDER}/queue"


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a request in the queue.

    Attributes:
        is_turn: whether it is the request's turn: no other request is writing or is ahead in the queue.
        ahead: the request that is writing, followed by the requests that are ahead in the queue, first to last.
    """

    is_turn: bool
    ahead: tuple[str, ...] = ()


class WriterQueue:
    """The queue of one table.

    Args:
        refresh_s: seconds between two refreshes of the writer's turn.
    """

    def __init__(self, storage: Storage, clock: Clock, *, refresh_s: float = _REFRESH_S) -> None:
        self._storage = storage
        self._clock = clock
        self._refresh_s = refresh_s

    def wait(self, owner: str) -> Place:
        """Join the queue at its end, or refresh the place that this request already has. Return the current place."""
        mine = self._ticket_of(owner)
        self._storage.write(mine, owner.encode())
        before = [path for path in self._alive() if path < mine]
        writing = self._writing(owner)
        ahead = [*writing, *(name for path in before if (name := self._owner(path)))]
        return Place(is_turn=not ahead, ahead=tuple(dict.fromkeys(ahead)))

    def begin(self, owner: str) -> bool:
        """Start this request's turn if no other request is ahead. Return whether this request has the turn."""
        if not self.wait(owner).is_turn:
            return False
        if self._owner(_HOLDER) == owner:
            return True
        if self._storage.exists(_HOLDER) and not self._writing(owner):
            self._storage.delete(_HOLDER)  # the writer that had the turn died
        try:
            self._storage.create(_HOLDER, owner.encode())
        except ObjectExistsError:
            return False
        return True

    def refresh(self, owner: str) -> None:
        """Refresh the turn of a request that is writing.

        Do nothing if the turn has ended or belongs to another request. In that case, the task has ended or was treated
        as dead.
        """
        if self._owner(_HOLDER) == owner:
            self._storage.write(_HOLDER, owner.encode())

    @contextmanager
    def writing(self, owner: str, *, keep_turn_after: type[BaseException] | None = None) -> Iterator[None]:
        """Refresh the turn from a thread while the caller writes; then leave the queue.

        Args:
            keep_turn_after: keep the turn after this exception, because another process continues the write. That
                process calls `refresh` and `leave`.
        """
        finished = threading.Event()

        def keep_alive() -> None:
            while not finished.wait(self._refresh_s):
                try:
                    self.refresh(owner)
                except StorageError:
                    continue  # the next refresh may succeed; if not, another request may start, which risks a conflict

        thread = threading.Thread(target=keep_alive, name=f"turn-{owner}", daemon=True)
        thread.start()
        keeps_turn = False
        try:
            yield
        except BaseException as error:
            keeps_turn = keep_turn_after is not None and isinstance(error, keep_turn_after)
            raise
        finally:
            finished.set()
            thread.join()
            if not keeps_turn:
                self.leave(owner)

    def leave(self, owner: str) -> None:
        """End this request's turn and leave the queue; also delete expired places. May be called more than once."""
        if self._owner(_HOLDER) == owner:
            self._storage.delete(_HOLDER)
        for stored in self._tickets():
            if stored.path.endswith(_suffix(owner)) or not self._is_alive(stored.modified_ms):
                self._storage.delete(stored.path)

    def _ticket_of(self, owner: str) -> str:
        for stored in self._tickets():
            if stored.path.endswith(_suffix(owner)):
                return stored.path
        now = self._clock.now().strftime("%Y%m%d%H%M%S%f")
        return f"{_QUEUE}/{now}{_suffix(owner)}"

    def _tickets(self) -> list[StoredObject]:
        return sorted(self._storage.list_folder(_QUEUE).files, key=lambda stored: stored.path)

    def _alive(self) -> list[str]:
        return [stored.path for stored in self._tickets() if self._is_alive(stored.modified_ms)]

    def _writing(self, owner: str) -> list[str]:
        """Return the other request that is writing now; an empty list if there is none."""
        holder = self._owner(_HOLDER)
        if holder is None or holder == owner:
            return []
        try:
            return [holder] if self._is_alive(self._storage.modified_ms(_HOLDER)) else []
        except ObjectNotFoundError:
            return []

    def _is_alive(self, modified_ms: int) -> bool:
        return self._clock.now().timestamp() - modified_ms / 1000 < EXPIRY_S

    def _owner(self, path: str) -> str | None:
        try:
            return self._storage.read(path).decode(errors="replace")
        except ObjectNotFoundError:
            return None


def _suffix(owner: str) -> str:
    return f"-{hashlib.sha256(owner.encode()).hexdigest()[:16]}"
