"""Hundreds of triggers in one process: only a few read storage at a time, all read equally often, and all fire."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from airflow.triggers.base import BaseTrigger

from airflow_hudi_provider.instant_query import InstantQuery
from airflow_hudi_provider.triggers import pool
from airflow_hudi_provider.triggers.commit_count import HudiCommitCountTrigger
from airflow_hudi_provider.triggers.instant import HudiInstantTrigger, query_to_json
from airflow_hudi_provider.triggers.pending_service import HudiPendingServiceTrigger
from airflow_hudi_provider.triggers.turn import HudiTurnTrigger
from airflow_hudi_provider.triggers.watcher import HudiTableWatcherTrigger
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.turns import WriterQueue
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.clustered_tables import complete, schedule
from support.small_tables import SmallTable

GROUP = FileGroupId("city=a", "a-0")
TABLES = 300
POOL_SIZE = 3


class ReadCounter:
    """Counts concurrent reads (current and maximum) and records the times of the reads of each table."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.current = self.maximum = 0
        self.times: dict[str, list[float]] = {}

    @contextmanager
    def reading(self, table: str) -> Iterator[None]:
        with self.lock:
            self.current += 1
            self.maximum = max(self.maximum, self.current)
            self.times.setdefault(table, []).append(time.monotonic())
        try:
            time.sleep(0.002)  # a slow store, so that reads overlap
            yield
        finally:
            with self.lock:
                self.current -= 1


READS = ReadCounter()


def counted(kind: type[Any], method: str = "_poll_table") -> type[Any]:
    """Return a subclass of the trigger whose reads of tables are counted."""

    def poll(self: Any, *args: Any) -> Any:
        with READS.reading(self.base_path):
            return getattr(super(made, self), method)(*args)

    made = type(kind.__name__, (kind,), {method: poll})
    return made


@pytest.fixture(autouse=True)
def small_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AIRFLOW__HUDI__TRIGGERER_LOOKS", str(POOL_SIZE))
    pool._threads.cache_clear()
    READS.__init__()  # type: ignore[misc]
    yield
    pool._threads().shutdown()
    pool._threads.cache_clear()


def common(table: SmallTable) -> dict[str, Any]:
    return {
        "base_path": table.storage.base_path,
        "hudi_conn_id": None,
        "storage_conn_id": None,
        "fails_if_missing": False,
        "poke_interval": 0.3,
    }


Waiting = tuple[BaseTrigger, Callable[[], object]]
"""A waiting trigger, and a function that makes it fire."""


def wait_for_instant(table: SmallTable) -> Waiting:
    query = query_to_json(InstantQuery(after="20260101000000000"))
    return counted(HudiInstantTrigger)(query=query, **common(table)), lambda: table.commit(GROUP)


def wait_for_two_commits(table: SmallTable) -> Waiting:
    table.commit(GROUP)
    return counted(HudiCommitCountTrigger)(every_n_commits=2, **common(table)), lambda: table.commit(GROUP)


def wait_for_a_service(table: SmallTable) -> Waiting:
    table.commit(GROUP)
    plan = schedule(table)
    trigger = counted(HudiPendingServiceTrigger)(services=["clustering"], **common(table))
    return trigger, lambda: complete(table, plan)


def wait_for_a_turn(table: SmallTable) -> Waiting:
    queue = WriterQueue(table.storage, SystemClock())
    assert queue.begin("another writer")
    return counted(HudiTurnTrigger)(owner="me", **common(table)), lambda: queue.leave("another writer")


def wait_for_an_event(table: SmallTable) -> Waiting:
    given = {k: v for k, v in common(table).items() if k != "fails_if_missing"}
    return counted(HudiTableWatcherTrigger)(**given), lambda: table.commit(GROUP)


KINDS = (wait_for_instant, wait_for_two_commits, wait_for_a_service, wait_for_a_turn, wait_for_an_event)


async def first_event(trigger: BaseTrigger) -> Any:
    async with aclosing(trigger.run()) as events:  # type: ignore[type-var]
        return (await anext(events)).payload


def count_pool_threads() -> int:
    return sum(thread.name.startswith(pool.THREAD_NAME) for thread in threading.enumerate())


def test_hundreds_of_triggers_share_a_small_pool_and_all_fire(tmp_path: Path) -> None:
    tables = [SmallTable(LocalStorage(str(tmp_path / f"t{number}"))) for number in range(TABLES)]
    waiting = [KINDS[number % len(KINDS)](table) for number, table in enumerate(tables)]
    before = threading.active_count()

    async def run() -> tuple[tuple[int, int], list[Any]]:
        tasks = [asyncio.create_task(first_event(trigger)) for trigger, _ in waiting]
        deadline = time.monotonic() + 60
        while min((len(READS.times.get(t.storage.base_path, ())) for t in tables), default=0) < 2:
            assert time.monotonic() < deadline
            assert not any(task.done() for task in tasks)
            await asyncio.sleep(0.05)
        thread_counts = count_pool_threads(), threading.active_count() - before
        for _, make_fire in waiting:
            make_fire()
        return thread_counts, await asyncio.wait_for(asyncio.gather(*tasks), 60)

    (pool_threads, new_threads), events = asyncio.run(run())
    assert len(events) == TABLES
    assert [event for event in events if "error" in event] == []
    assert READS.maximum == POOL_SIZE
    assert pool_threads <= POOL_SIZE
    assert new_threads < 2 * POOL_SIZE, "besides the pool, Airflow may have started one or two threads"


def test_all_triggers_read_equally_often(tmp_path: Path) -> None:
    """Reads run in the order of their requests, so a trigger that polls often does not delay the other triggers."""
    tables = [SmallTable(LocalStorage(str(tmp_path / f"t{number}"))) for number in range(60)]

    async def run() -> None:
        triggers = [wait_for_instant(table)[0] for table in tables]
        for trigger in triggers:
            trigger.poke_interval = 0.001  # type: ignore[attr-defined]
        tasks = [asyncio.create_task(first_event(trigger)) for trigger in triggers]
        await asyncio.sleep(1.5)
        for task in tasks:
            task.cancel()

    asyncio.run(run())
    counts = [len(READS.times[table.storage.base_path]) for table in tables]
    assert min(counts) >= 2
    assert max(counts) - min(counts) <= 2


def test_a_call_that_is_cancelled_in_the_queue_never_runs(tmp_path: Path) -> None:
    called: list[int] = []

    async def run() -> None:
        busy = [asyncio.create_task(pool.run_in_pool(time.sleep, 0.3)) for _ in range(POOL_SIZE)]
        queued = asyncio.create_task(pool.run_in_pool(called.append, 1))
        await asyncio.sleep(0.1)
        queued.cancel()
        await asyncio.gather(*busy)
        await pool.run_in_pool(called.append, 2)

    asyncio.run(run())
    assert called == [2]


def test_triggers_that_start_together_spread_their_polls() -> None:
    pauses = sorted(pool.spread(60) for _ in range(3000))
    assert pauses[0] >= 54
    assert pauses[-1] <= 66
    gaps = [later - earlier for earlier, later in pairwise(pauses)]
    assert max(gaps) < 0.2, "the pauses are spread evenly"


@pytest.mark.parametrize("text", ["0", "-2", "many", ""])
def test_an_invalid_setting_does_not_stop_the_triggerer(
    monkeypatch: pytest.MonkeyPatch, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW__HUDI__TRIGGERER_LOOKS", text)
    assert pool.pool_size() == pool.DEFAULT_THREADS
    assert "triggerer_looks" in caplog.text
    monkeypatch.delenv("AIRFLOW__HUDI__TRIGGERER_LOOKS")
    assert pool.pool_size() == 8
