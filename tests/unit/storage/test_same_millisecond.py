"""Processes that request instants in the same millisecond never overwrite each other's instant."""

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.errors import InstantExistsError
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.locks.lock import table_lock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.timeline_store import TimelineStore
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, table_properties

PROCESSES, ROUNDS = 3, 4
SPAWN = multiprocessing.get_context("spawn")
LOST = "lost"


def request(
    base_path: str, version: TableVersion, who: str, is_locked: bool, barrier: Barrier, results: Any
) -> None:
    """Request an instant in each round, at the same time as the other processes; report the time of the instant.

    If another process requested an instant with this time first, report `LOST`.
    """
    storage = LocalStorage(base_path)
    store = TimelineStore(storage, TableConfig(table_properties(version)), FixedClock())
    for round_number in range(ROUNDS):
        content = f"{who} in round {round_number}".encode()
        barrier.wait(60)
        try:
            if is_locked:
                with table_lock(storage, LockOptions(retry_wait_ms=10)):
                    instant = store.request(Action.CLEAN, content)
            else:
                instant = store.request(Action.CLEAN, content)
        except InstantExistsError:
            results.put((content, LOST))
        else:
            results.put((content, instant.requested_time))
        barrier.wait(60)


@pytest.mark.parametrize(
    ("is_locked", "version"),
    [(True, TableVersion.V9), (False, TableVersion.V6)],
    ids=["with the lock", "without a lock"],
)
def test_two_processes_never_get_the_same_instant(
    tmp_path: Path, version: TableVersion, is_locked: bool
) -> None:
    table = SmallTable(LocalStorage(str(tmp_path)), version)
    barrier, results = SPAWN.Barrier(PROCESSES), SPAWN.Queue()
    processes = [
        SPAWN.Process(target=request, args=(str(tmp_path), version, f"p{n}", is_locked, barrier, results))
        for n in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    answers = [results.get(timeout=120) for _ in range(PROCESSES * ROUNDS)]
    for process in processes:
        process.join()
    won = {time: content for content, time in answers if time != LOST}
    found = {i.requested_time: table.timeline_store.read_requested(i) for i in table.timeline_store.load()}
    assert found == won
    assert len([time for _, time in answers if time != LOST]) == len(won)
    if is_locked:
        assert len(won) == PROCESSES * ROUNDS
    else:
        assert len(won) >= ROUNDS  # at least one process gets an instant in each round
