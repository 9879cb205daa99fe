"""Wait for a condition."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], timeout_s: float = 90.0) -> None:
    """Call the condition repeatedly until it is true; fail after this time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
