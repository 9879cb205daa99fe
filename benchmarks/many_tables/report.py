"""Print the figures of a run, and write them as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from many_tables.rounds import Round
from many_tables.usage import Memory

_FORMAT = "{:<22}{:>9}{:>10}{:>10}{:>12}{:>14}"


def print_round(done: Round, tables: int) -> None:
    """Print one line when a round has ended."""
    name = f"round {done.number}" + (" (new tables)" if done.number == 0 else "")
    print(
        f"{name}: {done.loads} of {tables} loads in {done.seconds:.0f} s, {done.loads_per_hour:,.0f} loads an hour, "
        f"{done.cpu_seconds_of_a_load:.2f} core-seconds a load",
        flush=True,
    )


def print_report(rounds: Sequence[Round], memory: Mapping[str, Memory], minutes: float) -> None:
    """Print the medians of all rounds after the first, by component, and the memory over the whole time."""
    later = [each for each in rounds if each.number > 0] or list(rounds)
    print(f"\n{len(later)} rounds, {minutes:.0f} minutes")
    print(f"loads an hour, one round after another: {median(each.loads_per_hour for each in later):,.0f}")
    print(f"core-seconds a load: {median(each.cpu_seconds_of_a_load for each in later):.2f}, of which")
    print(_FORMAT.format("component", "core-s", "MiB first", "MiB last", "MiB peak", "growth"))
    for name, found in memory.items():
        seconds = median(each.cpu_seconds[name] / max(1, each.loads) for each in later)
        growth = f"{found.last - found.first:+.0f} MiB"
        row = (f"{seconds:.2f}", f"{found.first:.0f}", f"{found.last:.0f}", f"{found.peak:.0f}", growth)
        print(_FORMAT.format(name, *row))
    print("first, last: medians of the first and last third of the time")


def write_result(
    path: Path, rounds: Sequence[Round], memory: Mapping[str, Memory], **settings: object
) -> None:
    """Write all figures as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "settings": settings,
        "rounds": [asdict(each) for each in rounds],
        "memory_mib": {name: asdict(each) for name, each in memory.items()},
    }
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(f"Written to {path}")
