"""How much a test run covers: a fixed sample of the cases or, with ``TEST_DEPTH=all`` (``make test-all``), all cases.

Tests and cases that only ``make test-all`` runs have the marker ``thorough``.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

IS_ALL = os.environ.get("TEST_DEPTH", "sample") == "all"
"""Whether this test run covers all cases."""


def by_depth(sampled: T, everything: T) -> T:
    """Return `everything` with ``TEST_DEPTH=all``, and `sampled` in all other runs."""
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


def deselect_thorough(config: pytest.Config, items: list[pytest.Item]) -> int:
    """Deselect the tests with the marker ``thorough``, unless this run covers all cases; return their number."""
    left_out = [] if IS_ALL else [item for item in items if item.get_closest_marker("thorough")]
    if left_out:
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=left_out)
    return len(left_out)
