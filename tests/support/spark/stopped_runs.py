"""Stop a job at its changes of storage, one change per run: at all of them, or at a sample (see `support.depth`)."""

from collections.abc import Callable, Iterator
from pathlib import Path

from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import StorageError
from hudi_table_services.storage.stores.local import LocalStorage
from support.depth import IS_ALL
from support.faulty_storage import Crash, FaultyStorage
from support.spark.writing import TableUnderTest

STEP = 3
FEW_CHANGES = 9
"""A job with no more changes, such as a cancellation, is stopped at each of them."""
COMPLETED = (".commit", ".replacecommit")

Act = Callable[[TableUnderTest, FaultyStorage], JobResult]


def stopped_runs(
    start: Callable[[Path], TableUnderTest],
    folder: Path,
    act: Act,
    *,
    after: bool = False,
    error: Callable[[], BaseException] = Crash,
    at_least: int = 2,
    turn: int = 0,
) -> Iterator[TableUnderTest]:
    """Yield the table as each stopped run left it.

    Args:
        start: makes the table of one run in this folder.
        folder: of the tables.
        act: the job, on the storage that fails.
        after: fail once the change is done, instead of before.
        error: what the storage raises.
        at_least: how many changes the job makes, or more.
        turn: 0, 1 or 2: which of the changes between the first and the last one a sample takes. Tests of one job that
            use all three turns stop the job at every change; a test that is alone stops it at about half of them.
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
            assert storage.changes >= fail_at, "the job makes fewer changes than before"
            yield table  # the job could do without this change


def sample(changes: list[str], turn: int) -> list[int]:
    """Numbers of the first and the last change, of the commit and the one after it, and of every third change.

    The sample contains all numbers if there are few changes.
    """
    last = len(changes)
    if last <= FEW_CHANGES:
        return list(range(1, last + 1))
    commits = [number for number, change in enumerate(changes, start=1) if change.endswith(COMPLETED)]
    around = {number + i for number in commits for i in (0, 1)}
    every_third = {number for number in range(1, last + 1) if number % STEP == turn % STEP}
    return sorted(number for number in {1, last} | around | every_third if number <= last)


def _changes(table: TableUnderTest, act: Act) -> list[str]:
    """What the job changes when nothing stops it."""
    storage = FaultyStorage(LocalStorage(str(table.base_path)))
    act(table, storage)
    return storage.log
