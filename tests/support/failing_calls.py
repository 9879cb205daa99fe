"""A storage that fails once, at its n-th call of any kind: reads, listings and changes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.stores.storage import StoredObject
from support.faulty_storage import FaultyStorage

T = TypeVar("T")


class OutageError(StorageError):
    """The error that the storage raises. All other errors in a test have other classes."""


@dataclass
class FailingCalls(FaultyStorage):
    """Passes every call on to the wrapped storage, except one call, which fails.

    Attributes:
        fail_at: number of the call that fails, counted from 1; with 0, no call fails.
        after: fail after the call has done its work. A listing of files fails after it has returned half of the files.
        calls: number of calls so far.
        failed: name and path of the failing call; empty until this call.
    """

    calls: int = 0
    failed: str = ""
    _guard: Lock = field(default_factory=Lock, repr=False)

    def list_files(self, folder: str = "") -> Iterator[StoredObject]:
        if not self._must_fail("list_files", folder):
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
        if not self._must_fail(operation.__name__, str(arguments[0])):
            return operation(*arguments)
        if self.after:
            operation(*arguments)
        raise self._outage()

    def _must_fail(self, name: str, path: str) -> bool:
        with self._guard:  # some jobs delete files in several threads
            self.calls += 1
            if self.calls != self.fail_at:
                return False
            self.failed = f"{name} {path!r}"
            return True

    def _outage(self) -> OutageError:
        return OutageError(f"Cannot {self.failed} now.")
