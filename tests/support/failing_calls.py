"""A storage that fails once, at its n-th call of any kind: looks and listings as well as changes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.stores.storage import StoredObject
from support.faulty_storage import FaultyStorage

T = TypeVar("T")


class OutageError(StorageError):
    """What the storage says once; no other error of a test is of this class."""


@dataclass
class FailingCalls(FaultyStorage):
    """Passes every call on and fails at one of them; before and after it storage works.

    Attributes:
        fail_at: number of the call that fails, from 1; 0 = none.
        after: fail once the call has done its work. A listing of files breaks off half-way.
        calls: how many there were so far.
        failed: what the failing call was asked to do; empty until then.
    """

    calls: int = 0
    failed: str = ""
    _guard: Lock = field(default_factory=Lock, repr=False)

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        if not self._is_the_one("list_files", folder):
            yield from self.inner.list_files(folder)
            return
        found = list(self.inner.list_files(folder)) if self.after else []
        yield from found[: len(found) // 2]
        raise self._outage()

    def _look(self, operation: Callable[..., T], *arguments: Any) -> T:
        return self._call(operation, *arguments)

    def _change(self, operation: Callable[..., T], *arguments: Any) -> T:
        return self._call(operation, *arguments)

    def _call(self, operation: Callable[..., T], *arguments: Any) -> T:
        if not self._is_the_one(operation.__name__, str(arguments[0])):
            return operation(*arguments)
        if self.after:
            operation(*arguments)
        raise self._outage()

    def _is_the_one(self, name: str, path: str) -> bool:
        with self._guard:  # some jobs delete in threads
            self.calls += 1
            if self.calls != self.fail_at:
                return False
            self.failed = f"{name} {path!r}"
            return True

    def _outage(self) -> OutageError:
        return OutageError(f"Cannot {self.failed} now.")
