"""Pytest hook that selects the pairs of Hudi release and table version for the conformance tests of ``make test-all``.

Versions 8 and 9 differ in few places, and so do the tables of version 6 that the two releases write. Therefore, most
tests use only the oldest and the newest pair (`EDGES`). A test whose outcome may depend on the version names its pairs
itself: ``@pytest.mark.oracles(V6_OLD, V8, V9)``. A negative control breaks a rule. Its outcome depends only on Hudi, so
one release is enough. ``TEST_DEPTH=exhaustive`` also runs all other cases.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from judges.oracle import EDGES, V6_OLD, V9, Oracle


@pytest.hookimpl(tryfirst=True)  # adds the markers before `deselect_deeper` reads them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add the markers ``exhaustive`` and ``on_spark``."""
    mark_exhaustive(items)
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("on_spark")


def mark_exhaustive(items: list[pytest.Item]) -> None:
    """Add the marker ``exhaustive`` to each case that repeats a test with a further pair.

    A case keeps its depth if ``make test`` runs it, or if its test has no case with the newest pair.
    """
    oracles: defaultdict[str, set[Oracle]] = defaultdict(set)
    for item in items:
        oracles[_function(item)].update(_oracles(item))
    for item in items:
        marker = item.get_closest_marker("oracles")
        usual = set(marker.args if marker else EDGES)
        if _is_control(item):
            usual -= {V6_OLD}
        is_repeated = V9 in oracles[_function(item)] and not usual.issuperset(_oracles(item))
        if is_repeated and item.get_closest_marker("thorough"):
            item.add_marker("exhaustive")


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _is_control(item: pytest.Item) -> bool:
    return "_control_" in _function(item)


def _oracles(item: pytest.Item) -> set[Oracle]:
    call = getattr(item, "callspec", None)
    return set() if call is None else set(_found(call.params.values()))


def _found(values: Iterable[Any]) -> Iterator[Oracle]:
    for value in values:
        if isinstance(value, Oracle):
            yield value
        elif isinstance(value, tuple):
            yield from _found(value)
