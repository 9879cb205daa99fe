"""Run other code in the middle of a job: after its start, or after it has written its files but before its commit.

A copy of the table made at that moment equals the table that ``kill -9`` would leave. A write of another writer at
that moment is a race between two commits. The engine's own code runs unchanged before and after the interruption.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hudi_table_services.storage.timeline_store import TimelineStore


@contextmanager
def just_before_completion(act: Callable[[], None]) -> Iterator[None]:
    """Call ``act`` once, just before the job completes its next instant."""
    complete = TimelineStore.complete
    happened: list[bool] = []

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if not happened:
            happened.append(True)
            act()
        return complete(*arguments, **named)

    with _replaced("complete", interrupted):
        yield
    assert happened, "nothing was completed: the test proved nothing"


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
    assert happened, "nothing was started: the test proved nothing"


@contextmanager
def _replaced(name: str, function: Callable[..., Any]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TimelineStore, name, function)
        yield
