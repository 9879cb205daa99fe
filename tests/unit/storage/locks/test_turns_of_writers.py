"""The writer queue: one request writes at a time, in the order of arrival, even if requests die."""

import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from uuid import uuid4

import pytest

from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks import turns
from hudi_table_services.storage.locks.turns import EXPIRY_S, WriterQueue
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from support.fixed_clock import FixedClock


@pytest.fixture(params=["memory", "local"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return MemoryStorage(uuid4().hex) if request.param == "memory" else LocalStorage(str(tmp_path))


@pytest.fixture
def queue(storage: Storage) -> WriterQueue:
    return WriterQueue(storage, SystemClock())


def test_requests_write_in_the_order_of_their_arrival(queue: WriterQueue) -> None:
    assert queue.begin("a")
    for name in ("b", "c"):
        assert not queue.begin(name)
    assert queue.wait("b").ahead == ("a",)
    assert queue.wait("c").ahead == ("a", "b")
    queue.leave("a")
    assert not queue.begin("c")
    assert queue.begin("b")
    queue.leave("b")
    queue.leave("b")
    assert queue.begin("c")


def test_a_retry_keeps_its_place_and_its_turn(queue: WriterQueue) -> None:
    assert queue.begin("a")
    queue.wait("b")
    queue.wait("c")
    assert queue.begin("a")
    assert queue.wait("b").ahead == ("a",)


def test_a_request_can_leave_the_queue(queue: WriterQueue, storage: Storage) -> None:
    queue.begin("a")
    queue.wait("b")
    queue.wait("c")
    queue.leave("b")
    queue.leave("a")
    assert queue.begin("c")
    queue.leave("c")
    assert list(storage.list_files(turns.FOLDER)) == []


def test_a_new_request_does_not_wait_for_dead_requests(storage: Storage) -> None:
    queue = WriterQueue(storage, SystemClock())
    assert queue.begin("dead writer")
    queue.wait("dead waiter")
    queue.wait("alive")
    after = datetime.now(timezone.utc) + timedelta(seconds=EXPIRY_S + 5)
    later = WriterQueue(storage, FixedClock(after, timedelta(milliseconds=1)))
    assert later.begin("new")


def test_a_request_that_leaves_the_queue_deletes_the_places_of_dead_requests(storage: Storage) -> None:
    queue = WriterQueue(storage, SystemClock())
    assert queue.begin("dead writer")
    queue.wait("dead waiter")
    after = datetime.now(timezone.utc) + timedelta(seconds=EXPIRY_S + 5)
    later = WriterQueue(storage, FixedClock(after, timedelta(milliseconds=1)))
    assert later.begin("new")
    later.leave("new")
    assert list(storage.list_files(turns.FOLDER)) == []


def test_a_writer_that_lost_its_turn_does_not_take_it_back(storage: Storage) -> None:
    """When Airflow ends a task, another thread leaves the queue while this thread still refreshes the turn."""
    queue = WriterQueue(storage, SystemClock(), refresh_s=0.01)
    assert queue.begin("a")
    with queue.writing("a"):
        queue.leave("a")
        time.sleep(0.1)
        assert list(storage.list_files(turns.FOLDER)) == []
        assert WriterQueue(storage, SystemClock()).begin("b")
        time.sleep(0.1)
        assert storage.read(f"{turns.FOLDER}/writing") == b"b"


def test_a_turn_is_refreshed_during_the_write(storage: Storage) -> None:
    queue = WriterQueue(storage, SystemClock(), refresh_s=0.01)
    assert queue.begin("a")
    holder = f"{turns.FOLDER}/writing"
    with queue.writing("a"):
        first = storage.modified_ms(holder)
        deadline = time.monotonic() + 5
        while storage.modified_ms(holder) == first and time.monotonic() < deadline:
            time.sleep(0.01)
        assert storage.modified_ms(holder) > first
    assert not storage.exists(holder)


def test_many_concurrent_requests_write_one_by_one(storage: Storage) -> None:
    inside: list[str] = []
    most: list[int] = []

    def work(name: str) -> None:
        queue = WriterQueue(storage, SystemClock())
        while not queue.begin(name):
            time.sleep(0.002)
        with queue.writing(name):
            inside.append(name)
            most.append(len(inside))
            time.sleep(0.005)
            inside.remove(name)

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8
