"""Compute the ratios between systems from the results of a run, and store results and ratios as JSON."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

from bench.program import write_document
from bench.scenarios import OTHER_FORMATS, Operation, Scenario, System
from bench.sessions import DELTA_PACKAGE, HUDI_PACKAGE, ICEBERG_PACKAGE

MEMORY_TARGET = 0.4
OTHER_FORMATS_TARGET = 1.0
"""This engine must be at least as fast as Delta and Iceberg."""

PLAIN_TARGET = 1.0
"""An insert must be at least as fast as a copy by Spark's own Parquet writer."""

ROWS_READ_TARGET = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one system in one scenario.

    Attributes:
        seconds, peak_memory_bytes: one item per repetition.
        write_seconds: seconds of each write of the repetition nearest to the median.
        rows_read: average number of rows that a query for one value of a sort column must read.
        correct: whether row count and checksum of the table are as expected in every repetition.
    """

    scenario: str
    system: System
    seconds: tuple[float, ...]
    peak_memory_bytes: tuple[int, ...]
    write_seconds: tuple[float, ...]
    row_count: int
    file_count: int
    storage_bytes: int
    correct: bool
    rows_read: float | None = None

    @property
    def median_seconds(self) -> float:
        return median(self.seconds)

    @property
    def largest_peak_bytes(self) -> int:
        return max(self.peak_memory_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One figure of this engine compared with another system.

    Attributes:
        what: ``speed`` is the seconds of the other system divided by the seconds of this engine; larger is better.
            ``memory``, ``storage`` and ``rows read`` are this engine's figure divided by the other system's figure;
            smaller is better.
        target: the value to reach; None means that the ratio has no target.
    """

    scenario: str
    what: str
    against: System
    value: float
    target: float | None

    @property
    def is_reached(self) -> bool | None:
        """Whether the target is reached; None if there is no target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.what == "speed" else self.value <= self.target


def ratios(scenario: Scenario, results: Sequence[Result]) -> list[Ratio]:
    """Return the ratios of this engine to each other system that has a result for the scenario."""
    by_system = {result.system: result for result in results if result.scenario == scenario.name}
    ours = by_system.get(System.OURS)
    if ours is None or scenario.operation is Operation.PLAIN:
        return []
    found = []

    def add(what: str, against: System, value: float, target: float | None) -> None:
        found.append(Ratio(scenario=scenario.name, what=what, against=against, value=value, target=target))

    for system, other in by_system.items():
        if system is System.OURS:
            continue
        if system is System.HUDI:
            add("speed", system, other.median_seconds / ours.median_seconds, scenario.speed_target)
            add("memory", system, ours.largest_peak_bytes / other.largest_peak_bytes, MEMORY_TARGET)
            if ours.rows_read and other.rows_read:
                add("rows read", system, ours.rows_read / other.rows_read, ROWS_READ_TARGET)
        if system in OTHER_FORMATS and scenario.storage_target is None:
            add("speed", system, other.median_seconds / ours.median_seconds, OTHER_FORMATS_TARGET)
        if scenario.storage_target is not None:
            target = scenario.storage_target if system is System.DELTA else None
            add("storage", system, ours.storage_bytes / other.storage_bytes, target)
    plain = next((each for each in results if each.scenario == scenario.plain_scenario), None)
    if plain is not None:
        add("speed", System.SPARK, plain.median_seconds / ours.median_seconds, PLAIN_TARGET)
    return found


def write_results(
    path: Path, scale: float, settings: dict[str, str], results: Sequence[Result], found: Sequence[Ratio]
) -> None:
    """Write the run as one JSON document."""
    write_document(
        path,
        scale,
        settings=settings,
        machine={
            "cores": os.cpu_count(),
            "platform": platform.platform(),
            "python": platform.python_version(),
        },
        versions={
            "pyspark": version("pyspark"),
            "pyarrow": version("pyarrow"),
            "hudi": HUDI_PACKAGE,
            "delta": DELTA_PACKAGE,
            "iceberg": ICEBERG_PACKAGE,
        },
        results=[asdict(result) for result in results],
        ratios=[{**asdict(ratio), "reached": ratio.is_reached} for ratio in found],
    )


def read_results(path: Path) -> list[Result]:
    """Read the results of an earlier run, so that only changed scenarios must be measured again."""
    return [
        Result(
            **{
                **item,
                "system": System(item["system"]),
                "seconds": tuple(item["seconds"]),
                "peak_memory_bytes": tuple(item["peak_memory_bytes"]),
                "write_seconds": tuple(item["write_seconds"]),
            }
        )
        for item in json.loads(path.read_text())["results"]
    ]
