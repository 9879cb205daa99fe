"""A clock for tests, which does not depend on the real time."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone


@dataclass
class FixedClock:
    """Always returns the same time, or, with a `step`, a later time at each call."""

    moment: datetime = field(default_factory=lambda: datetime(2026, 1, 2, 3, 4, 5, 678000, timezone.utc))
    step: timedelta = timedelta(0)

    def now(self) -> datetime:
        now = self.moment
        self.moment += self.step
        return now
