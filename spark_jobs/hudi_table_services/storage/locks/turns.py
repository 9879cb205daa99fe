"""Whose turn it is to write a table: a queue of requests, kept in the table's storage.

It orders the writers of one Airflow, so that they do not make each other's work void. It keeps nobody from writing:
what must not happen at the same time is prevented by the table lock and the check for conflicts, not by this.

Ours alone; Hudi does not look into ``.hoodie/.aux``.
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
"""Whoever gives no sign of life for so long has lost its place."""

_REFRESH_S = 30.0
_HOLDER = f"{FOLDER}/writing"
_QUEUE = f"{FOLDER}/queue"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request stands.

    Attributes:
        is_turn: nobody writes, and nobody came before.
        ahead: requests that write or came before, in order.
    """

    is_turn: bool
    ahead: tuple[str, ...] = ()


class WriterQueue:
    """The queue of one table.

    Args:
        refresh_s: seconds between two signs of life of the writer.
    """

    def __init__(self, storage: Storage, clock: Clock, *, refresh_s: float = _REFRESH_S) -> None:
        self._storage = storage
        self._clock = clock
        self._refresh_s = refresh_s

    def wait(self, owner: str) -> Place:
        """Take a place at the end, or give a sign of life at the place that this request has; where it stands now."""
        mine = self._ticket_of(owner)
        self._storage.write(mine, owner.encode())
        before = [path for path in self._alive() if path < mine]
        writing = self._writing(owner)
        ahead = [*writing, *(name for path in before if (name := self._owner(path)))]
        return Place(is_turn=not ahead, ahead=tuple(dict.fromkeys(ahead)))

    def begin(self, owner: str) -> bool:
        """Whether it is this request's turn, and nobody else was quicker; then it counts as writing."""
        if not self.wait(owner).is_turn:
            return False
        if self._owner(_HOLDER) == owner:
            return True
        if self._storage.exists(_HOLDER) and not self._writing(owner):
            self._storage.delete(_HOLDER)  # of one that died
        try:
            self._storage.create(_HOLDER, owner.encode())
        except ObjectExistsError:
            return False
        return True

    def stay(self, owner: str) -> None:
        """Give a sign of life for a request that writes.

        Nothing for one whose turn is gone or another's: its task was ended, or was taken for dead.
        """
        if self._owner(_HOLDER) == owner:
            self._storage.write(_HOLDER, owner.encode())

    @contextmanager
    def writing(self, owner: str, *, stays_after: type[BaseException] | None = None) -> Iterator[None]:
        """Give signs of life from a thread while the caller writes; then leave.

        Args:
            stays_after: this exception means that somebody else goes on, who calls `stay` and `leave`.
        """
        over = threading.Event()

        def refresh() -> None:
            while not over.wait(self._refresh_s):
                try:
                    self.stay(owner)
                except StorageError:
                    continue  # the next one may arrive; without any others take over, which costs time only

        thread = threading.Thread(target=refresh, name=f"turn-{owner}", daemon=True)
        thread.start()
        goes_on = False
        try:
            yield
        except BaseException as error:
            goes_on = stays_after is not None and isinstance(error, stays_after)
            raise
        finally:
            over.set()
            thread.join()
            if not goes_on:
                self.leave(owner)

    def leave(self, owner: str) -> None:
        """Give up the place, and the turn; and sweep places of the dead away. Leaving twice is fine."""
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
        """Who else writes now."""
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
