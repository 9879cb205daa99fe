"""Write the results of a run of ``run.py`` into a page: a table with the targets, and a picture of the seconds."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.page_sections import PageError, write_section
from bench.pictures import Bar, bars_picture
from bench.results import Ratio, Result, ratios, read_results
from bench.scenarios import SCENARIOS, Scenario, System

SECTION = "make bench"
PICTURE = "benchmark-seconds.svg"
LEAST_SCALE = 1.0

_NAMES = {
    System.OURS: "this engine",
    System.HUDI: "Hudi 1.2.0",
    System.DELTA: "Delta 3.3.2",
    System.ICEBERG: "Iceberg 1.10.0",
    System.SPARK: "Spark's Parquet writer",
}
COLOURS = {
    System.OURS: "#1f6feb",
    System.HUDI: "#8c959f",
    System.DELTA: "#bf8700",
    System.ICEBERG: "#2da44e",
    System.SPARK: "#8250df",
}
_TIMES = "\N{MULTIPLICATION SIGN}"


def write_result_page(document: Path, page: Path) -> list[Path]:
    """Replace the results of scenarios in a page, and write the picture into the folder ``images`` beside the page.

    Returns:
        The written files.

    Raises:
        PageError: the run had fewer rows than scale 1, some rows were wrong, a system is missing in a scenario, or the
            page lacks the two markers.
    """
    facts = json.loads(document.read_text(encoding="utf-8"))
    results = read_results(document)
    if facts["scale"] < LEAST_SCALE:
        raise PageError(f"The run had scale {facts['scale']:g}. Small scales mostly measure fixed costs.")
    if wrong := sorted({each.scenario for each in results if not each.correct}):
        raise PageError(f"Tables had wrong rows: {', '.join(wrong)}.")
    if missing := _missing_systems(results):
        raise PageError(
            f"Measure these systems, too (--merge keeps the other results): {', '.join(missing)}."
        )
    write_section(page, SECTION, "\n".join(_section(facts, results)))
    picture = page.parent / "images" / PICTURE
    picture.write_text(seconds_picture(results), encoding="utf-8")
    return [page, picture]


def _missing_systems(results: Sequence[Result]) -> list[str]:
    """Return the systems without results in those scenarios that have results of another system."""
    measured = {(each.scenario, each.system) for each in results}
    begun = {scenario for scenario, _ in measured}
    wanted = [(each.name, system) for each in SCENARIOS if each.name in begun for system in each.systems]
    return [f"{system.value} in {name}" for name, system in wanted if (name, system) not in measured]


def _section(facts: dict[str, Any], results: Sequence[Result]) -> Iterator[str]:
    settings, machine = facts["settings"], facts["machine"]
    yield (
        f"Measured on {facts['measured_at'][:10]} with the master {settings['master']} on a machine with "
        f"{machine['cores']} cores. {settings['repeat']} measurement of each system.\n"
    )
    yield f"![Seconds of each system in each scenario](images/{PICTURE})\n"
    yield "| scenario | this engine | compared with | other system | figure | ratio | target |"
    yield "|---|--:|---|--:|---|--:|---|"
    for scenario in SCENARIOS:
        for ratio in ratios(scenario, results):
            yield _row(scenario, ratio, results)


def _row(scenario: Scenario, ratio: Ratio, results: Sequence[Result]) -> str:
    ours = _result(results, scenario.name, System.OURS)
    name = scenario.plain_scenario if ratio.against is System.SPARK else scenario.name
    other = _result(results, name, ratio.against)
    figures = [_figure(each, ratio.what) for each in (ours, other)]
    if ratio.target is None:
        target = ""
    else:
        limit = f"{'at least' if ratio.what == 'speed' else 'at most'} {ratio.target:g} {_TIMES}"
        target = limit if ratio.is_reached else f"{limit}: missed"
    return (
        f"| `{scenario.name}` | {figures[0]} | {_NAMES[ratio.against]} | {figures[1]} | {ratio.what} | "
        f"{ratio.value:.2f} {_TIMES} | {target} |"
    )


def _result(results: Sequence[Result], scenario: str, system: System) -> Result:
    return next(each for each in results if (each.scenario, each.system) == (scenario, system))


def _figure(result: Result, what: str) -> str:
    match what:
        case "speed":
            return f"{rounded(result.median_seconds)} s"
        case "memory":
            return f"{result.largest_peak_bytes / (1 << 20):,.0f} MiB"
        case "storage":
            return f"{result.storage_bytes / (1 << 20):,.0f} MiB"
    return f"{result.rows_read:,.0f} rows"


def rounded(seconds: float) -> str:
    """Return seconds with a precision of two or three digits."""
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2f}"


def seconds_picture(results: Sequence[Result]) -> str:
    """Return an SVG picture with a bar for the seconds of each system; each scenario has a scale of its own."""
    groups = []
    for scenario in SCENARIOS:
        found = {each.system: each for each in results if each.scenario == scenario.name}
        measured = [found[system] for system in System if system in found and system is not System.SPARK]
        if len(measured) > 1:
            groups.append((scenario.title, [_bar(each) for each in measured]))
    return bars_picture("Seconds of each system; shorter bars are better", groups)


def _bar(result: Result) -> Bar:
    label = f"{_NAMES[result.system]}, {rounded(result.median_seconds)} s"
    return Bar(label, result.median_seconds, COLOURS[result.system])
