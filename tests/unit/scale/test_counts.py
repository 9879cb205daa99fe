"""Operations make as many requests and function calls as `counts.json` states. The tests compare counts, not seconds.

Function calls stand for instructions, which not every machine can count. Their number depends on the releases of Python
and of the libraries. To write the file again, set ``WRITE_COUNTS``.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.storage import parallel
from scale.generator import make_table
from scale.measuring import Meter
from scale.operations import OPERATIONS, Target
from scale.shapes import TableKind, TableShape
from scale.stores import TablePlace

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="counts.json has the calls of Python 3.11"),
]

FILE = Path(__file__).with_name("counts.json")
GROUPS = 400
TOLERANCE = 0.05
"""Share by which the number of calls may differ."""

MEASURED = {
    TableKind.COW6: ("timeline", "clean plan", "archive"),
    TableKind.COW9: (
        "timeline",
        "upsert plan",
        "clustering plan",
        "clean plan",
        "health",
        "archive",
        "commit",
        "services of commits",
    ),
    TableKind.MOR9: ("compaction plan", "health"),
}


class CountingMeter(Meter):
    """Counts the function calls of this thread in each measured section, beside the requests."""

    def __init__(self, place: TablePlace) -> None:
        super().__init__(place.counts)
        self.calls: list[int] = []

    @contextmanager
    def measured(self) -> Iterator[None]:
        calls = 0

        def count(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            with super().measured():
                yield
        finally:
            sys.setprofile(None)
        self.calls.append(calls)


class NoThreads:
    """Starts no call, so the calling thread of `map_in_parallel` makes all calls."""

    def submit(self, _work: Callable[[], None]) -> "Future[None]":
        return Future()


@pytest.fixture(scope="module", params=MEASURED, ids=lambda kind: kind.value)
def table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[TableShape, Path]:
    shape = TableShape(kind=request.param, groups=GROUPS)
    folder = tmp_path_factory.mktemp("counts") / "table"
    make_table(folder, shape)
    return shape, folder


def counts_of(operation: str, shape: TableShape, folder: Path, scratch: Path) -> dict[str, Any]:
    """Run the operation twice, each time on a copy of the table. The first run imports modules and fills caches."""
    found: dict[str, Any] = {}
    for run in ("first", "second"):
        # A copy of the base files would need 200 MB each: they have their sizes, but no content.
        copied = shutil.copytree(folder, scratch / operation / run, copy_function=os.link)
        place = TablePlace(uri=str(copied))
        meter = CountingMeter(place)
        OPERATIONS[operation](Target(place=place, shape=shape, storage=place.open()), meter)
        figures = zip(meter.sections, meter.calls, strict=True)
        largest, calls = max(figures, key=lambda each: each[0].request_count)
        found = {"requests": dict(sorted(largest.requests.items())), "calls": calls}
    return found


def test_requests_and_calls_are_those_of_the_file(
    table: tuple[TableShape, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, folder = table
    monkeypatch.setattr(parallel, "_threads", NoThreads)
    measured = {name: counts_of(name, shape, folder, tmp_path) for name in MEASURED[shape.kind]}
    stated: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    if os.environ.get("WRITE_COUNTS"):
        FILE.write_text(json.dumps({**stated, shape.kind.value: measured}, indent=2, sort_keys=True) + "\n")
        return
    assert differences(stated[shape.kind.value], measured) == []


def differences(stated: Mapping[str, Any], measured: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each figure that differs. Fewer calls are a difference, so that the file stays true."""
    found = [f"{name}: not in both" for name in sorted(stated.keys() ^ measured.keys())]
    for name, each in measured.items():
        if name not in stated:
            continue
        wanted = stated[name]
        if each["requests"] != wanted["requests"]:
            found.append(f"{name}: requests {each['requests']} instead of {wanted['requests']}")
        if abs(each["calls"] - wanted["calls"]) > TOLERANCE * wanted["calls"]:
            found.append(f"{name}: {each['calls']:,} calls instead of {wanted['calls']:,}")
    return found


def test_a_difference_names_the_operation_and_both_figures() -> None:
    stated = {"health": {"requests": {"GET": 3}, "calls": 1_000}}
    assert differences(stated, {"health": {"requests": {"GET": 3}, "calls": 1_050}}) == []
    assert differences(stated, {"health": {"requests": {"GET": 4}, "calls": 1_051}}) == [
        "health: requests {'GET': 4} instead of {'GET': 3}",
        "health: 1,051 calls instead of 1,000",
    ]
