"""Measure the seconds of each phase of a job, for the result document and the log."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

_LOG = logging.getLogger(__name__)


class Stopwatch:
    """Seconds spent in each named phase, in the order in which the phases began."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            elapsed = time.monotonic() - started
            self.add(name, elapsed)
            _LOG.info("%s took %.1f s", name, elapsed)

    def add(self, name: str, seconds: float) -> None:
        """Add to a phase the seconds that the caller measured."""
        self.seconds[name] = round(self.seconds.get(name, 0.0) + seconds, 3)
