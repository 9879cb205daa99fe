"""Measure how long Airflow's DAG processor takes to parse the example DAGs, excluding Airflow itself.

Each measurement is made in a fresh process. Before it parses the examples, the process imports Airflow and the modules
of Airflow and of its Spark provider that the examples use. The process blocks packages that only jobs need, so a DAG
that imports one of these packages fails. The program prints the median of the measurements.
"""

import argparse
import atexit
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = tuple(sorted((ROOT / "dags_examples").glob("*.py")))
LIMIT_S = 0.5
"""Upper limit for all examples together, in seconds of CPU time."""

HEAVY = ("pyspark", "pyarrow", "fastavro", "numpy", "obstore", "pandas")

_PARSE = f"""
import json, runpy, sys, time
for name in {HEAVY!r}:
    sys.modules[name] = None  # importing it now fails
started = time.process_time()
import airflow.sdk
import airflow.providers.apache.spark.operators.spark_submit
import airflow.providers.common.compat.sdk as compat
import airflow.providers.standard.operators.hitl
compat.BaseSensorOperator, compat.AirflowPlugin, airflow.sdk.CronDataIntervalTimetable, airflow.sdk.Param
from airflow.sdk import DAG, task
from airflow.triggers.base import BaseTrigger
seconds = {{"": time.process_time() - started}}
for path in sys.argv[1:]:
    started = time.process_time()
    runpy.run_path(path)
    seconds[path] = time.process_time() - started
print(json.dumps(seconds))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsing:
    """CPU seconds of one process, or the median of several processes.

    Attributes:
        airflow: seconds to import Airflow and its Spark provider.
        examples: maps each file name to the seconds for parsing the file. The first file also imports the shared
            modules of this provider.
    """

    airflow: float
    examples: dict[str, float]

    @property
    def total(self) -> float:
        """Seconds of all examples."""
        return sum(self.examples.values())


@cache
def _bytecode_folder() -> str:
    folder = tempfile.mkdtemp(prefix="dag-parsing-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def parse_once(paths: Sequence[Path] = EXAMPLES) -> Parsing:
    """Parse the files in a fresh process.

    Raises:
        CalledProcessError: a DAG cannot be read, or it needs a package that only jobs need.
    """
    command = [sys.executable, "-c", _PARSE, *map(str, paths)]
    # Installed packages have bytecode. A first process compiles the examples into a bytecode folder of this program.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables["PYTHONPYCACHEPREFIX"] = _bytecode_folder()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    seconds = json.loads(done.stdout.splitlines()[-1])
    return Parsing(
        airflow=seconds.pop(""), examples={Path(path).name: taken for path, taken in seconds.items()}
    )


def median_of(several: Sequence[Parsing]) -> Parsing:
    """Return the median of each figure."""
    names = several[0].examples
    return Parsing(
        airflow=statistics.median(each.airflow for each in several),
        examples={name: statistics.median(each.examples[name] for each in several) for name in names},
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=7, help="number of measured processes")
    options = parser.parse_args()
    parse_once()  # only compiles the examples, so it is not measured
    several = [parse_once() for _ in range(options.processes)]
    found = median_of(several)
    print(f"Median of {options.processes} fresh processes, CPU seconds")
    for name, seconds in found.examples.items():
        print(f"{name:<34}{seconds:>8.3f}")
    total = statistics.median(each.total for each in several)
    print(f"{'all examples':<34}{total:>8.3f}   limit: < {LIMIT_S:g}")
    print(f"{'Airflow itself (not included)':<34}{found.airflow:>8.3f}")


if __name__ == "__main__":
    main()
