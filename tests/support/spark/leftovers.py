"""After a job died: the clock of the next one, and the files that its tasks leave for a moment."""

import time
from datetime import timedelta

from hudi_table_services.storage.clock import SystemClock
from support.fixed_clock import FixedClock
from support.spark.writing import TableUnderTest


def later() -> FixedClock:
    """When the lock and the heartbeat of a dead job have expired."""
    return FixedClock(SystemClock().now() + timedelta(minutes=10), step=timedelta(milliseconds=1))


def settled_leftovers(table: TableUnderTest) -> set[str]:
    """Tasks of a failed Spark job run on for a moment; what they wrote they remove themselves."""
    deadline = time.monotonic() + 10
    while table.leftovers() and time.monotonic() < deadline:
        time.sleep(0.1)
    return table.leftovers()
