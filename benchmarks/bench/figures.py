"""Compare figures with their targets, and measure cases that need no Spark in processes of their own."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

VERDICTS = {True: "reached", False: "NOT REACHED", None: ""}
"""What a report says about a target; None means that the figure has no target."""


@dataclass(frozen=True, slots=True)
class Target:
    """Bound of a figure: a minimum if `at_least`, otherwise a maximum."""

    value: float
    at_least: bool = False

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.value:g}"

    def is_reached(self, figure: float) -> bool:
        return figure >= self.value if self.at_least else figure <= self.value


def send_figures(figures: Mapping[str, float]) -> None:
    """Print the figures of the case that this process ran, and its peak memory, for `measured_figures`."""
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**figures, "peak MiB": peak_kib / 1024}))


def measured_figures(script: str, *arguments: str) -> dict[str, float]:
    """Run a script in a separate process, and return the figures that it sends.

    Raises:
        subprocess.CalledProcessError: the script failed.
    """
    command = [sys.executable, script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures
