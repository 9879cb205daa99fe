"""Calls in threads: order, number, errors, calls inside of calls, and processes that were forked."""

import os
import threading
import time
from multiprocessing import get_context

import pytest

from hudi_table_services.storage.parallel import READ_THREADS, map_in_parallel

SECONDS_TO_START = 20
"""Threads of a busy machine may start late."""


class Counter:
    """Counts how many calls run at the same time. A call ends when the wanted number of calls have run together."""

    def __init__(self, wanted: int) -> None:
        self.most = 0
        self._wanted = wanted
        self._running = 0
        self._guard = threading.Lock()
        self._is_reached = threading.Event()

    def __call__(self, item: int) -> int:
        with self._guard:
            self._running += 1
            self.most = max(self.most, self._running)
            if self.most >= self._wanted:
                self._is_reached.set()
        self._is_reached.wait(SECONDS_TO_START)
        time.sleep(0.01)
        with self._guard:
            self._running -= 1
        return -item


@pytest.mark.parametrize("count", [0, 1, 2, READ_THREADS, 50])
def test_results_have_the_order_of_the_items(count: int) -> None:
    counter = Counter(wanted=min(count, 2))
    assert map_in_parallel(counter, range(count)) == [-item for item in range(count)]
    assert min(count, 2) <= counter.most <= min(count, READ_THREADS)


def test_a_caller_can_ask_for_more_threads() -> None:
    counter = Counter(wanted=READ_THREADS + 1)
    map_in_parallel(counter, range(100), threads=16)
    assert READ_THREADS < counter.most <= 16


def test_the_first_item_that_failed_gives_the_error_and_later_items_are_not_called() -> None:
    called: list[int] = []

    def fails_at_odd_items(item: int) -> None:
        called.append(item)
        if item % 2:
            raise ValueError(item)

    with pytest.raises(ValueError, match="^1$"):
        map_in_parallel(fails_at_odd_items, range(1000))
    assert len(called) < 100


def test_calls_inside_of_calls_end_even_if_no_thread_is_free() -> None:
    def outer(item: int) -> int:
        return sum(map_in_parallel(middle, range(20))) + item

    def middle(item: int) -> int:
        return sum(map_in_parallel(lambda each: each, range(item)))

    expected = sum(sum(range(item)) for item in range(20))
    assert map_in_parallel(outer, range(60), threads=60) == [expected + item for item in range(60)]


def in_child() -> None:
    counter = Counter(wanted=2)
    assert map_in_parallel(counter, range(20)) == [-item for item in range(20)]
    os._exit(0 if counter.most > 1 else 3)


def test_a_forked_process_has_threads_of_its_own() -> None:
    map_in_parallel(Counter(wanted=2), range(20))
    child = get_context("fork").Process(target=in_child)
    child.start()
    child.join(30)
    assert child.exitcode == 0


def test_an_interrupt_of_the_caller_ends_all_calls_before_it_is_raised() -> None:
    main, running = threading.current_thread(), threading.Event()
    ended: list[int] = []

    def read(item: int) -> None:
        if threading.current_thread() is main:
            running.wait(5)
            raise KeyboardInterrupt
        running.set()
        time.sleep(0.05)
        ended.append(item)
        raise ValueError(item)

    with pytest.raises(KeyboardInterrupt):
        map_in_parallel(read, range(100))
    before = len(ended)
    time.sleep(0.1)
    assert 0 < len(ended) == before < READ_THREADS
