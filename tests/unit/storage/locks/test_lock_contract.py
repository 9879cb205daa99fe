"""The contract of every table lock: one holder at a time among threads and processes, takeover only after expiry."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from obstore.store import MemoryStore

from hudi_table_services.errors import LockNotAcquiredError, ObjectExistsError
from hudi_table_services.options.locks import FILE_SYSTEM_PROVIDER, STORAGE_BASED_PROVIDER, LockOptions
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks import lock_rounds
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.object_store import ObjectStoreStorage
from hudi_table_services.storage.stores.storage import Storage
from support.fixed_clock import FixedClock

THREADS, PROCESSES, TURNS = 12, 3, 8
SPAWN = multiprocessing.get_context("spawn")


class Server(BaseManager):
    """A server that shares one `MemoryStorage` among several processes, like a store with several clients."""


# The methods are listed by name, because automatic discovery fails on dataclasses with slots in early releases of
# Python 3.11.
_SERVED = (
    "create",
    "delete",
    "exists",
    "list_files",
    "list_folder",
    "modified_ms",
    "put_if",
    "read",
    "read_versioned",
    "size",
    "write",
)
Server.register("storage", MemoryStorage, exposed=_SERVED)


class Served:
    """Client of the storage of a `Server`, for any process."""

    uri = "memory://served"
    base_path = uri

    def __init__(self, address: Any, key: bytes, name: str) -> None:
        self._connection = (address, key, name)
        server = Server(address=address, authkey=key)
        server.connect()
        self._proxy = cast(Any, server).storage(name)

    def __reduce__(self) -> tuple[object, ...]:
        return (Served, self._connection)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._proxy, name)

    def read_versioned(self, path: str) -> Any:
        return self._proxy.read_versioned(path)

    def put_if(self, *arguments: Any) -> Any:
        return self._proxy.put_if(*arguments)


@dataclass(frozen=True)
class Case:
    """A lock provider on a storage."""

    provider: str
    storage: Storage

    def lock(self, clock: FixedClock | None = None, **options: int) -> TableLock:
        chosen = {"retries": 100_000, "retry_wait_ms": 1, **options}
        return table_lock(self.storage, LockOptions(provider=self.provider, **chosen), clock)


@pytest.fixture
def served() -> Iterator[Storage]:
    with Server(ctx=SPAWN) as server:
        yield cast(Storage, Served(server.address, multiprocessing.current_process().authkey, uuid4().hex))


STORAGE_BASED = ["storage in memory", "storage on obstore"]


@pytest.fixture(params=["file system", "file system in memory", *STORAGE_BASED])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    makers: dict[str, Callable[[], Case]] = {
        "file system": lambda: Case(FILE_SYSTEM_PROVIDER, LocalStorage(str(tmp_path))),
        "file system in memory": lambda: Case(FILE_SYSTEM_PROVIDER, MemoryStorage(uuid4().hex)),
        "storage in memory": lambda: Case(STORAGE_BASED_PROVIDER, MemoryStorage(uuid4().hex)),
        "storage on obstore": lambda: Case(
            STORAGE_BASED_PROVIDER, ObjectStoreStorage("s3://b/t", MemoryStore())
        ),
    }
    return makers[request.param]()


def take_turns(case: Case, who: str, turns: int) -> None:
    """Take the lock repeatedly, and create a file under the lock. A second holder would fail to create this file."""
    for turn in range(turns):
        with case.lock() as lock:
            case.storage.create("inside", who.encode())
            lock.verify()
            case.storage.delete("inside")
            case.storage.create(f"turns/{who}-{turn}", b"")


def finished_turns(storage: Storage) -> int:
    return len(list(storage.list_files("turns")))


def test_only_one_thread_holds_the_lock_at_a_time(case: Case) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            take_turns(case, f"thread{number}", 2)
        except ObjectExistsError as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert finished_turns(case.storage) == THREADS * 2


@pytest.mark.parametrize("provider", [FILE_SYSTEM_PROVIDER, STORAGE_BASED_PROVIDER])
def test_only_one_process_holds_the_lock_at_a_time(provider: str, served: Storage, tmp_path: Path) -> None:
    is_file_system = provider == FILE_SYSTEM_PROVIDER
    case = Case(provider, LocalStorage(str(tmp_path)) if is_file_system else served)
    processes = [
        SPAWN.Process(target=take_turns, args=(case, f"process{n}", TURNS)) for n in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    assert finished_turns(case.storage) == PROCESSES * TURNS


def later(minutes: float) -> FixedClock:
    return FixedClock(SystemClock().now() + timedelta(minutes=minutes))


def leave_lock(case: Case) -> None:
    """Leave the lock on storage, in the same way as a process that was killed."""
    lock_paths = [".hoodie/lock", ".hoodie/.locks/table_lock.json"]
    with case.lock():
        [(path, left)] = [(p, case.storage.read(p)) for p in lock_paths if case.storage.exists(p)]
    case.storage.write(path, left)


def test_the_lock_of_a_dead_holder_is_taken_only_after_it_expired(case: Case) -> None:
    leave_lock(case)
    with pytest.raises(LockNotAcquiredError), case.lock(later(minutes=1.9), retries=1, client_retries=0):
        pytest.fail("the lock was taken over too early")
    with case.lock(later(minutes=6), retries=1, client_retries=0) as successor:
        successor.verify()


def test_the_log_of_a_waiting_writer_names_the_holder(
    case: Case, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lock_rounds, "_FIRST_LINE_S", 0.0)
    caplog.set_level("INFO")
    with case.lock(), pytest.raises(LockNotAcquiredError), case.lock(retries=5, client_retries=0):
        pytest.fail("two writers have the lock")
    (line,) = (
        each for each in caplog.messages if each.startswith("Waiting for the table lock (for 0 s so far): ")
    )
    assert '"owner"' in line or '"lockThreadName"' in line


@pytest.mark.parametrize("case", STORAGE_BASED, indirect=True)
def test_waiting_writers_take_an_expired_lock_one_at_a_time(case: Case) -> None:
    """The format of the file-system lock cannot guarantee this; `verify` stops a holder whose lock was taken over."""
    leave_lock(case)
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        with case.lock(later(minutes=6)):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8
