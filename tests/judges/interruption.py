"""Run other code in the middle of a job: after its start, or after it has written its files but before its commit.

If the other code copies the table, the copy equals the table that ``kill -9`` would leave. If the other code writes to
the table, two commits race. The engine's own code runs unchanged before and after the interruption.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hudi_table_services.storage.timeline_store import TimelineStore


@contextmanager
def just_before_completion(act: Callable[[], None], number: int = 1) -> Iterator[None]:
    """Call ``act`` once, just before the job completes an instant.

    Args:
        number: the first, second, … completion from now on. If a job updates the metadata table, it completes the
            instant of the metadata table first.
    """
    complete = TimelineStore.complete
    calls = itertools.count(1)
    happened: list[bool] = []

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if next(calls) == number:
            happened.append(True)
            act()
        return complete(*arguments, **named)

    with _replaced("complete", interrupted):
        yield
    assert happened, "the job completed no instant, so the test proves nothing"


@contextmanager
def just_after_start(act: Callable[[], None]) -> Iterator[None]:
    """Call ``act`` once, when the job's next instant has become inflight and has written no data file."""
    start = TimelineStore.start
    happened: list[bool] = []

    def interrupted(*arguments: Any, **named: Any) -> Any:
        instant = start(*arguments, **named)
        if not happened:
            happened.append(True)
            act()
        return instant

    with _replaced("start", interrupted):
        yield
    assert happened, "the job started no instant, so the test proves nothing"


@contextmanager
def _replaced(name: str, function: Callable[..., Any]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TimelineStore, name, function)
        yield
