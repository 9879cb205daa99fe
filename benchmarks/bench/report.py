"""Format the results for printing."""

from collections.abc import Iterator, Sequence

from bench.figures import VERDICTS
from bench.results import Ratio, Result
from bench.scenarios import SCENARIOS, System

_NAMES = {
    System.OURS: "ours",
    System.HUDI: "Hudi 1.2.0",
    System.DELTA: "Delta 3.3.2",
    System.ICEBERG: "Iceberg 1.10.0",
    System.SPARK: "Spark parquet",
}
_MIB = 1 << 20


def result_line(result: Result) -> str:
    """Format one result: time, memory, files, bytes, and whether the rows are correct."""
    verdict = "rows ok" if result.correct else "WRONG ROWS"
    return (
        f"  {_NAMES[result.system]:<14}{result.median_seconds:>9.1f} s"
        f"{result.largest_peak_bytes / _MIB:>9,.0f} MiB peak"
        f"{result.file_count:>6} files{result.storage_bytes / _MIB:>8,.0f} MiB stored"
        f"{result.row_count:>12,} rows  {verdict}{_slowest_write(result)}"
    )


def _slowest_write(result: Result) -> str:
    """Format the time of the slowest write after the first one, in a scenario with several writes."""
    later = result.write_seconds[1:]
    return f"  slowest later write {max(later):.2f} s" if later else ""


def report(results: Sequence[Result], found: Sequence[Ratio]) -> str:
    """Format all results by scenario, then all ratios with their targets."""
    return "\n".join([*_result_lines(results), "", *_ratio_lines(found)])


def _result_lines(results: Sequence[Result]) -> Iterator[str]:
    for scenario in SCENARIOS:
        lines = [result_line(result) for result in results if result.scenario == scenario.name]
        if lines:
            yield f"\n{scenario.title}  ({scenario.name})"
            yield from lines


def _ratio_lines(found: Sequence[Ratio]) -> Iterator[str]:
    if not found:
        yield "There are no ratios: a ratio needs this engine and another system in one scenario."
        return
    titles = {scenario.name: scenario.title for scenario in SCENARIOS}
    yield f"{'scenario':<44}{'figure':<11}{'against':<14}{'ratio':>8}{'target':>10}"
    yield "-" * 96
    for ratio in found:
        yield (
            f"{titles[ratio.scenario]:<44}{ratio.what:<11}{_NAMES[ratio.against]:<14}"
            f"{ratio.value:>7.2f}x{_target(ratio):>10}  {_verdict(ratio)}"
        )


def _target(ratio: Ratio) -> str:
    if ratio.target is None:
        return "-"
    return f"{'>=' if ratio.what == 'speed' else '<='} {ratio.target:g}x"


def _verdict(ratio: Ratio) -> str:
    return VERDICTS[ratio.is_reached]
