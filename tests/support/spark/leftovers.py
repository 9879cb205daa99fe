"""After a job has died: a clock for the next job, and the files that the dead job left."""

import time
from datetime import timedelta

from hudi_table_services.storage.clock import SystemClock
from support.fixed_clock import FixedClock
from support.spark.writing import TableUnderTest


def later() -> FixedClock:
    """A clock ten minutes ahead. According to this clock, the lock and the heartbeat of a dead job have expired."""
    return FixedClock(SystemClock().now() + timedelta(minutes=10), step=timedelta(milliseconds=1))


def settled_leftovers(table: TableUnderTest) -> set[str]:
    """Return the leftovers after the tasks have ended.

    Tasks of a failed Spark job continue for a short time, and then remove the files that they wrote.
    """
    deadline = time.monotonic() + 10
    while table.leftovers() and time.monotonic() < deadline:
        time.sleep(0.1)
    return table.leftovers()
