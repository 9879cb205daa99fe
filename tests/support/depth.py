"""How much a test run covers. The environment variable ``TEST_DEPTH`` decides.

- ``sample`` (``make test``): a fixed sample of the cases.
- ``all`` (``make test-all``): all tests, except repetitions with a further table version or release of Hudi.
- ``exhaustive``: every case.

Tests and cases that ``make test`` leaves out have the marker ``thorough``; those that ``make test-all`` also leaves out
have the marker ``exhaustive``.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

DEPTH = os.environ.get("TEST_DEPTH", "sample")
if DEPTH not in ("sample", "all", "exhaustive"):
    raise pytest.UsageError(f"TEST_DEPTH is {DEPTH!r}; valid values: sample, all, exhaustive.")
IS_ALL = DEPTH != "sample"
"""Whether this test run covers more than the sample."""

MARKERS = (
    "thorough: `make test-all` runs it, `make test` does not",
    "exhaustive: only TEST_DEPTH=exhaustive runs it",
    "oracles(...): releases and table versions that `make test-all` uses",
    "reads_differ(reason): a conformance test that does not compare each read of Hudi with a read of this project",
    "on_spark: a conformance test whose jobs run on Spark",
)


def by_depth(sampled: T, everything: T) -> T:
    """Return `sampled` in ``make test``, and `everything` in deeper runs."""
    return everything if IS_ALL else sampled


def number_from(variable: str, sampled: float, everything: float) -> float:
    """The number in an environment variable. Without the variable, the depth of the run gives the number."""
    return float(os.environ.get(variable) or by_depth(sampled, everything))


def cases(every: Sequence[Any], sampled: Sequence[Any], name: Callable[[Any], str] = str) -> list[Any]:
    """Return the cases in `every` as test parameters. Cases that are not in `sampled` get the marker ``thorough``."""
    return [
        pytest.param(case, id=name(case), marks=() if case in sampled else pytest.mark.thorough)
        for case in every
    ]


def deselect_deeper(config: pytest.Config, items: list[pytest.Item]) -> int:
    """Deselect the tests whose markers require a deeper run than this run; return their number."""
    markers = {"sample": ("thorough", "exhaustive"), "all": ("exhaustive",), "exhaustive": ()}[DEPTH]
    left_out = [item for item in items if any(item.get_closest_marker(marker) for marker in markers)]
    if left_out:
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=left_out)
    return len(left_out)
