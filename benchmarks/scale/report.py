"""Print the measurements with their targets, and write them as JSON."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from itertools import groupby
from pathlib import Path

from bench.pictures import LinePlot
from scale.measuring import Measurement
from scale.page import PAGE, markdown_table, write_section
from scale.targets import LIMITS, Verdict, slopes, verdicts

_KINDS = ("LIST", "GET", "HEAD", "PUT", "POST", "DELETE")
_PICTURED = "mor9"
"""The picture shows tables of this kind, because all operations are possible with them."""

_LEAST_SECONDS = 0.001
"""Resolution of the measured seconds."""

_PLAN_SECONDS = LIMITS["upsert plan"].seconds or 0.0


def print_report(measured: Sequence[Measurement], *, uses_cpu_time: bool) -> int:
    """Print a table of figures, a table of slopes and the missed targets. Return the number of missed targets."""
    head = f"{'operation':<16}{'table':>6}{'groups':>9}{'store':>6}{'seconds':>9}{'cpu s':>8}{'MiB':>7}"
    print(f"{head}{''.join(f'{kind:>8}' for kind in _KINDS)}  found")
    missed: list[str] = []
    for each in measured:
        counts = "".join(f"{each.requests.get(kind, 0):>8,}" for kind in _KINDS)
        place = f"{each.operation:<16}{each.kind:>6}{each.groups:>9,}{each.store:>6}"
        found = ", ".join(f"{number:,} {noun}" for noun, number in each.found.items())
        print(f"{place}{each.seconds:>9.2f}{each.cpu_s:>8.2f}{each.peak_mib:>7.0f}{counts}  {found}")
        missed += _missed(place, verdicts(each, uses_cpu_time=uses_cpu_time))
    for place, same in _by_operation(measured):
        growth = list(slopes(same))
        if growth:
            print(f"{place}  " + ", ".join(f"{each.name} {each.figure:.2f}" for each in growth))
        missed += _missed(place, growth)
    print(f"{len(missed)} targets are missed." if missed else "All targets are met.")
    for line in missed:
        print(f"  {line}")
    return len(missed)


def _missed(place: str, found: Iterable[Verdict]) -> list[str]:
    return [
        f"{place}: {each.name} {each.figure:,.2f}, target at most {each.limit:g}"
        for each in found
        if not each.is_met
    ]


def _by_operation(measured: Sequence[Measurement]) -> list[tuple[str, list[Measurement]]]:
    def key(each: Measurement) -> tuple[str, str, str]:
        return each.operation, each.kind, each.store

    ordered = sorted(measured, key=key)
    return [
        (f"{names[0]:<16}{names[1]:>6}{'':>9}{names[2]:>6}", list(same))
        for names, same in groupby(ordered, key)
    ]


def write_result(path: Path, measured: Sequence[Measurement], *, wait_ms: float, uses_cpu_time: bool) -> None:
    """Write all figures, the comparisons with targets, and the settings of the run as one JSON document."""
    document = {
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "request_ms": wait_ms,
        "compared": "cpu_s" if uses_cpu_time else "seconds",
        "measurements": [
            {**asdict(each), "targets": _documents(verdicts(each, uses_cpu_time=uses_cpu_time))}
            for each in measured
        ],
        "growth": [
            {
                "operation": same[0].operation,
                "kind": same[0].kind,
                "store": same[0].store,
                "slopes": _documents(slopes(same)),
            }
            for _, same in _by_operation(measured)
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1))


def _documents(found: Iterable[Verdict]) -> list[dict[str, object]]:
    return [{**asdict(each), "is_met": each.is_met} for each in found]


def write_page(measured: Sequence[Measurement], *, uses_cpu_time: bool, page: Path = PAGE) -> None:
    """Write the figures of the largest tables, and the growth of all figures, into a page, with pictures beside it."""
    largest = max(each.groups for each in measured)
    of_largest = [each for each in measured if each.groups == largest]
    write_section("plans", _figures_table(of_largest, uses_cpu_time), page)
    write_section("growth", _growth_table(measured), page)
    for store in sorted({each.store for each in measured if each.kind == _PICTURED}):
        picture = growth_picture([each for each in measured if each.store == store])
        (page.parent / "images" / f"scale-seconds-{store}.svg").write_text(picture, encoding="utf-8")


def growth_picture(measured: Sequence[Measurement]) -> str:
    """Return an SVG picture: how the seconds of each operation grow with the file groups of a table."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for each in sorted(measured, key=lambda found: found.groups):
        if each.kind == _PICTURED:
            lines.setdefault(each.operation, []).append((each.groups, max(each.seconds, _LEAST_SECONDS)))
    plot = LinePlot(
        title="Seconds of each operation by the number of file groups of a merge-on-read table",
        lines={name: points for name, points in lines.items() if len(points) > 1},
        x_name="file groups of the table",
        y_name="seconds",
        limit=_PLAN_SECONDS,
        limit_name=f"target of plans, health and archive: at most {_PLAN_SECONDS:g} s",
    )
    return plot.svg()


def _figures_table(measured: Sequence[Measurement], uses_cpu_time: bool) -> str:
    rows = []
    for each in measured:
        found = [v for v in verdicts(each, uses_cpu_time=uses_cpu_time) if not v.is_met]
        requests = ", ".join(f"{each.requests[kind]:,} {kind}" for kind in _KINDS if each.requests.get(kind))
        rows.append(
            (
                each.operation,
                each.kind,
                each.store,
                f"{each.cpu_s:,.2f}" if uses_cpu_time else f"{each.seconds:,.2f}",
                f"{each.peak_mib:,.0f}",
                f"{each.request_count:,}",
                requests,
                "; ".join(f"{v.name} above {v.limit:g}" for v in found) or "met",
            )
        )
    head = (
        "operation",
        "table",
        "store",
        "processor seconds" if uses_cpu_time else "seconds",
        "MiB",
        "requests",
    )
    return markdown_table((*head, "by kind", "targets"), rows, texts=3)


def _growth_table(measured: Sequence[Measurement]) -> str:
    rows = []
    for _, same in _by_operation(measured):
        growth = list(slopes(same))
        if growth:
            figures = tuple(f"{each.figure:.2f}" for each in growth)
            sizes = ", ".join(f"{each.groups:,}" for each in same)
            rows.append((same[0].operation, same[0].kind, same[0].store, sizes, *figures))
    head = ("operation", "table", "store", "file groups", "processor seconds", "requests", "memory")
    return markdown_table(head, rows, texts=4)
