"""The releases of Hudi that judge the engine, the table versions that they judge, and their write options.

Versions 8 and 9 differ in few places, and so do tables of version 6 of the two releases. Therefore, most conformance
tests of ``make test-all`` use only the oldest and the newest pair of release and table version (`EDGES`). A test whose
outcome may depend on the version names its pairs: ``@pytest.mark.oracles(V6_OLD, V8, V9)``. A control of a rule breaks
the rule, and its outcome depends only on Hudi, so one release is enough. ``TEST_DEPTH=exhaustive`` runs the other cases
too.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from judges.rows import KEY, ORDERING, PARTITION
from support.depth import cases

RELEASES = ("0.15.0", "1.2.0")

_FEW_TASKS = {
    f"hoodie.{name}.parallelism": "2"
    for name in (
        *(f"{operation}.shuffle" for operation in ("upsert", "insert", "bulkinsert", "delete")),
        *(
            f"metadata.index.{index}"
            for index in ("bloom.filter", "column.stats", "partition.stats", "secondary")
        ),
        "archive.delete",
        "bloom.index",
        "clean",
        "cleaner",
        "clustering.group.read",
        "file.listing",
        "finalize.write",
        "global.index.reconcile",
        "global.simple.index",
        "markers.delete",
        "metadata.record.preparation",
        "rollback",
        "simple.index",
    )
}
"""Numbers of tasks of Hudi. With Hudi's defaults, up to 200, many jobs have hundreds of tasks for a few rows."""


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """One release of Hudi that uses one table version.

    Attributes:
        pins: settings that prevent Hudi 1.x from upgrading the table to a newer table version at its first write.
    """

    release: str
    table_version: int
    pins: Mapping[str, str] = field(init=False, hash=False)

    def __post_init__(self) -> None:
        is_old = self.release.startswith("0.")
        pins = {"hoodie.write.auto.upgrade": "false", "hoodie.write.table.version": str(self.table_version)}
        object.__setattr__(self, "pins", {} if is_old else pins)

    def __str__(self) -> str:
        return f"hudi-{self.release}-v{self.table_version}"

    def options(self, table_name: str, *, is_partitioned: bool = True, **more: str) -> dict[str, str]:
        """Options of one Hudi write: no table services, no metadata table, two tasks.

        Args:
            table_name: ``hoodie.table.name``.
            is_partitioned: whether the table has the partition column.
            more: further options, written without ``hoodie.`` and with ``__`` instead of dots: ``index__type="BLOOM"``.
        """
        extra = {"hoodie." + name.replace("__", "."): value for name, value in more.items()}
        return {
            "hoodie.table.name": table_name,
            "hoodie.datasource.write.operation": "upsert",
            "hoodie.datasource.write.recordkey.field": KEY,
            "hoodie.datasource.write.precombine.field": ORDERING,
            **partition_options(is_partitioned),
            "hoodie.metadata.enable": "false",
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
            "hoodie.embed.timeline.server": "false",
            "hoodie.write.markers.type": "DIRECT",
            **_FEW_TASKS,
            **self.pins,
            **extra,
        }


def partition_options(is_partitioned: bool) -> dict[str, str]:
    """Key generator options of the tables in the conformance tests."""
    if is_partitioned:
        return {"hoodie.datasource.write.partitionpath.field": PARTITION}
    return {
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    }


V6_OLD = Oracle(release="0.15.0", table_version=6)
V6 = Oracle(release="1.2.0", table_version=6)
V8 = Oracle(release="1.2.0", table_version=8)
V9 = Oracle(release="1.2.0", table_version=9)
ORACLES = (V6_OLD, V6, V8, V9)
# The oldest and the newest pair of release and table version, for tests that need only two pairs.
EDGES = (V6_OLD, V9)
# `make test` uses only the pairs in EDGES, and `make test-all` uses every oracle.
SAMPLED_ORACLES = cases(ORACLES, EDGES)
# A test that takes long uses only one of the two pairs in `make test`. The tests of a module share the pairs evenly.
ONLY_OLDEST_SAMPLED = cases(EDGES, [V6_OLD])
ONLY_NEWEST_SAMPLED = cases(EDGES, [V9])


@pytest.hookimpl(tryfirst=True)  # adds the markers before `deselect_deeper` reads them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add the markers ``exhaustive`` and ``on_spark``."""
    mark_exhaustive(items)
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("on_spark")


def judges_are_missing(error: Exception) -> None:
    """Skip the test if ``HUDI_JUDGES=optional`` is set outside CI; otherwise fail the test."""
    if os.environ.get("HUDI_JUDGES", "required") == "optional" and not os.environ.get("CI"):
        pytest.skip(str(error))
    pytest.fail(str(error), pytrace=False)


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
