"""Interrupt a job when it has written everything and nothing is visible yet.

A copy of the table taken there is what ``kill -9`` would leave; a foreign write done there is the late-completion
race. The engine's own code runs unchanged before and after.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hudi_table_services.storage.timeline_store import TimelineStore


@contextmanager
def just_before_completion(act: Callable[[], None]) -> Iterator[None]:
    """Call ``act`` once, when the next instant is about to be completed."""
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
    """Call ``act`` once, when the next instant has become inflight and no data file exists yet."""
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
