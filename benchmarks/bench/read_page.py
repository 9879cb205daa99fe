"""Write the results of a run of ``reads.py`` into a page: a table with the targets, and a picture of the seconds."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.page_sections import PageError, write_section
from bench.pictures import Bar, bars_picture
from bench.read_cases import READ_CASES, ReadCase, ReadRound
from bench.result_page import COLOURS, LEAST_SCALE, rounded
from bench.scenarios import System

SECTION = "reads.py"
PICTURE = "read-seconds.svg"
NAMES = {System.OURS: "this engine", System.HUDI: "Hudi 1.2.0", System.SPARK: "plain Parquet"}
_TIMES = "\N{MULTIPLICATION SIGN}"


def write_read_page(document: Path, page: Path) -> list[Path]:
    """Replace the results of reads in a page, and write the picture into the folder ``images`` beside the page.

    Returns:
        The written files.

    Raises:
        PageError: the run had fewer rows than scale 1, a case or a system is missing, systems returned different rows,
            or the page lacks the two markers.
    """
    facts = json.loads(document.read_text(encoding="utf-8"))
    rounds = [ReadRound(**{**each, "system": System(each["system"])}) for each in facts["rounds"]]
    if facts["scale"] < LEAST_SCALE:
        raise PageError(f"The run had scale {facts['scale']:g}. Small scales mostly measure fixed costs.")
    for case in READ_CASES:
        _check(case, [each for each in rounds if each.case == case.name])
    count = len({each.number for each in rounds})
    body = [
        f"Measured on {facts['measured_at'][:10]}. The figures are medians of {count} rounds: seconds, and processor "
        "seconds in brackets.\n",
        f"![Seconds of each system for each read](images/{PICTURE})\n",
        "| case | compared with | this engine | other system | ratio | target |",
        "|---|---|--:|--:|--:|---|",
        *(row for case in READ_CASES for row in _rows(case, rounds)),
    ]
    write_section(page, SECTION, "\n".join(body))
    picture = page.parent / "images" / PICTURE
    picture.write_text(_picture(rounds), encoding="utf-8")
    return [page, picture]


def _check(case: ReadCase, rounds: Sequence[ReadRound]) -> None:
    if missing := sorted(set(case.systems) - {each.system for each in rounds}):
        raise PageError(f"The read {case.name} was not measured with {', '.join(missing)}.")
    if len({(each.rows, each.checksum) for each in rounds}) > 1:
        raise PageError(f"The systems returned different rows for {case.name}.")


def _rows(case: ReadCase, rounds: Sequence[ReadRound]) -> Iterator[str]:
    for system in case.systems:
        ratio = case.ratio_to(system, rounds)
        if system is System.OURS or ratio is None:
            continue
        target = case.targets.get(system)
        text = ""
        if target is not None:
            text = f"at least {target.value:g} {_TIMES}" + ("" if target.is_reached(ratio) else ": missed")
        figures = [_figure(case, each, rounds) for each in (System.OURS, system)]
        yield f"| `{case.name}` | {NAMES[system]} | {figures[0]} | {figures[1]} | {ratio:.2f} {_TIMES} | {text} |"


def _figure(case: ReadCase, system: System, rounds: Sequence[ReadRound]) -> str:
    cpu_seconds = median(
        each.cpu_seconds for each in rounds if (each.case, each.system) == (case.name, system)
    )
    return f"{rounded(_seconds(case, system, rounds))} ({rounded(cpu_seconds)})"


def _seconds(case: ReadCase, system: System, rounds: Sequence[ReadRound]) -> float:
    return median(each.seconds for each in rounds if (each.case, each.system) == (case.name, system))


def _picture(rounds: Sequence[ReadRound]) -> str:
    groups = []
    for case in READ_CASES:
        seconds = {system: _seconds(case, system, rounds) for system in case.systems}
        bars = [
            Bar(f"{NAMES[each]}, {rounded(seconds[each])} s", seconds[each], COLOURS[each])
            for each in seconds
        ]
        groups.append((case.title, bars))
    return bars_picture("Seconds of each system for each read; shorter bars are better", groups)
