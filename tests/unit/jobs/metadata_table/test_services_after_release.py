"""A commit releases the table lock before the services of the metadata table; the services take the lock again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import pytest

from hudi_table_services.commits.measured_lock import MeasuredLock, measured_lock
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from support.metadata_table.maintained_tables import (
    A,
    B,
    Write,
    compacting,
    copied,
    files_in,
    listed_files,
    listing,
    maintained,
    ticking,
    visible_files,
)

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
LOCK = ".hoodie/lock"
SERVICES = ".hoodie/metadata/.hoodie"
COMPACTS = compacting(every=2)


@dataclass
class RecordingStorage:
    """Records when the lock is taken and released, when the write completes, and when a compaction completes.

    Attributes:
        attempts: number of attempts to take the lock.
        after_release: is called each time after the lock has been released.
    """

    inner: Storage
    events: list[str] = field(default_factory=list)
    attempts: int = 0
    after_release: Callable[[], object] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def create(self, path: str, data: bytes) -> None:
        self.attempts += path == LOCK
        self.inner.create(path, data)
        if path == LOCK:
            self.events.append("take")
        elif path.endswith(".commit"):
            folder = str(PurePosixPath(path).parent)
            self.events.append("compaction" if folder.startswith(SERVICES) else "commit")

    def delete(self, path: str) -> bool:
        deleted: bool = self.inner.delete(path)
        if path == LOCK:
            self.events.append("release")
            self.after_release()
        return deleted


def compactions(storage: Storage) -> int:
    return sum(each.name.endswith(".commit") for each in storage.list_files(SERVICES))


def lists_every_file(storage: Storage) -> bool:
    return files_in(listed_files(listing(storage))) == files_in(visible_files(storage))


@VERSIONS
def test_the_lock_is_free_between_the_commit_and_the_compaction_of_the_metadata_table(
    version: TableVersion,
) -> None:
    storage = RecordingStorage(copied(maintained(version)))
    Write((A,), "w3", 3, metadata=COMPACTS)(storage, ticking(1))
    after = storage.events[storage.events.index("commit") :]
    assert after == ["commit", "release", "take", "compaction", "release"]
    assert lists_every_file(storage.inner)


@VERSIONS
def test_a_writer_that_commits_in_between_may_run_the_services(version: TableVersion) -> None:
    storage = RecordingStorage(copied(maintained(version)))

    def commit_of_another() -> None:
        if storage.events[-2:] == ["commit", "release"]:
            Write((B,), "other", 4, metadata=COMPACTS)(storage.inner, ticking(2))

    storage.after_release = commit_of_another
    Write((A,), "w3", 3, metadata=COMPACTS)(storage, ticking(1))
    assert storage.events[-2:] == ["take", "release"]  # nothing was left to do
    assert compactions(storage.inner) == 1
    assert lists_every_file(storage.inner)


@VERSIONS
def test_a_commit_whose_services_do_not_get_the_lock_succeeds_and_the_next_commit_runs_them(
    version: TableVersion, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    storage = RecordingStorage(copied(maintained(version)))

    def take_the_lock() -> None:
        if storage.events[-2:] == ["commit", "release"]:
            storage.attempts = 0
            storage.inner.create(LOCK, b'{"lockThreadName":"main"}')

    storage.after_release = take_the_lock
    Write((A,), "w3", 3, metadata=COMPACTS)(storage, ticking(1))
    [warning] = [each for each in caplog.messages if "services of the metadata table failed" in each]
    assert "the next change of the table repeats them" in warning
    assert "was held by another writer" in warning
    assert compactions(storage.inner) == 0
    assert (
        1 < storage.attempts <= 1 + LockOptions().retries
    )  # one round, without the retries of the lock manager
    storage.inner.delete(LOCK)
    Write((A,), "w4", 4, metadata=COMPACTS)(storage.inner, ticking(2))
    assert compactions(storage.inner) == 1
    assert lists_every_file(storage.inner)


def lock_on(storage: Storage) -> MeasuredLock:
    return measured_lock(storage, LockOptions(), SystemClock(), Stopwatch(), "r")


def test_a_postponed_function_runs_once_after_the_release_and_may_take_the_lock() -> None:
    storage = MemoryStorage("postponed")
    lock, locked = lock_on(storage), []

    def take_again() -> None:
        locked.append(storage.exists(LOCK))
        with lock:
            locked.append(storage.exists(LOCK))

    with lock:
        lock.after_release(take_again)
        assert locked == []
    with lock:
        pass
    assert locked == [False, True]


def test_a_postponed_function_does_not_run_after_an_error() -> None:
    lock, ran = lock_on(MemoryStorage("postponed-error")), []

    def refuse() -> None:
        with lock:
            lock.after_release(lambda: ran.append("after the error"))
            raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        refuse()
    with lock:
        pass
    assert ran == []
