"""Run a job repeatedly, and stop each run at a different change to the storage: at all changes or at a sample."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import StorageError
from hudi_table_services.storage.stores.local import LocalStorage
from support.depth import IS_ALL
from support.faulty_storage import Crash, FaultyStorage

STEP = 3
FEW_CHANGES = 9
"""A job that makes at most this number of changes, such as a cancellation, is stopped at every change."""
COMPLETED = (".commit", ".replacecommit")


class HasBasePath(Protocol):
    """A table under test."""

    @property
    def base_path(self) -> Path: ...


T = TypeVar("T", bound=HasBasePath)
Act = Callable[[T, FaultyStorage], JobResult]


def stopped_runs(
    start: Callable[[Path], T],
    folder: Path,
    act: Act[T],
    *,
    after: bool = False,
    error: Callable[[], BaseException] = Crash,
    at_least: int = 2,
    turn: int = 0,
) -> Iterator[T]:
    """Yield the table as each stopped run left it.

    Args:
        start: creates the table of one run in the given folder.
        folder: the folder that contains the tables of all runs.
        act: runs the job on the storage that fails.
        after: fail after the storage has done the change, and not before.
        error: creates the error that the storage raises.
        at_least: the minimum number of changes that the job must make.
        turn: 0, 1 or 2; selects which third of the changes a sample contains. A test with one turn stops the job at
            about half of its changes. Three tests of a job, one for each turn, stop the job at every change.
    """
    changes = _changes(start(folder / "whole"), act)
    assert len(changes) >= at_least, changes
    for fail_at in range(1, len(changes) + 1) if IS_ALL else sample(changes, turn):
        table = start(folder / str(fail_at))
        storage = FaultyStorage(LocalStorage(str(table.base_path)), fail_at, after, error)
        try:
            act(table, storage)
        except (Crash, StorageError):
            yield table
        else:
            assert storage.changes >= fail_at, "the job makes fewer changes than in its first run"
            yield table  # the job succeeded although this change failed


def sample(changes: list[str], turn: int) -> list[int]:
    """Numbers of five kinds of changes: first, last, commit, the change after the commit, and every third change.

    The sample contains all numbers if there are few changes.
    """
    last = len(changes)
    if last <= FEW_CHANGES:
        return list(range(1, last + 1))
    commits = [number for number, change in enumerate(changes, start=1) if change.endswith(COMPLETED)]
    around = {number + i for number in commits for i in (0, 1)}
    every_third = {number for number in range(1, last + 1) if number % STEP == turn % STEP}
    return sorted(number for number in {1, last} | around | every_third if number <= last)


def _changes(table: T, act: Act[T]) -> list[str]:
    """Operation and path of each change that the job makes if no change fails."""
    storage = FaultyStorage(LocalStorage(str(table.base_path)))
    act(table, storage)
    return storage.log
