"""The common parts of programs that measure jobs on Spark: arguments, folders, rounds, JSON document, exit."""

import argparse
import json
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

from bench.inputs import Inputs, prepare_inputs
from bench.measuring import MeasuredProcessError, Measurement, Watcher, measure
from bench.protocol import Job

ROOT = Path(__file__).resolve().parents[2]
PYTHON_PATH = (ROOT / "spark_jobs", ROOT / "benchmarks")
MIB = 1 << 20
_Item = TypeVar("_Item")


def program_parser(
    description: str, *, kind: str, names: Sequence[str], results: str = "", more: str = ""
) -> argparse.ArgumentParser:
    """Return a parser of the arguments that all programs have.

    Args:
        kind: plural noun for what the program measures.
        names: names of everything that the program can measure; the argument ``--only`` chooses some of them.
        results: start of the names of the files with results.
        more: further sentences at the end of the help.
    """
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    parser = argparse.ArgumentParser(
        description=description,
        epilog=f"{kind.capitalize()}: {', '.join(names)}. {more}",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--scale", type=float, default=1.0, help="TPC-H scale factor; 1 is 6.0 million rows")
    add_choice(parser, "--only", kind, names)
    add("--cores", type=int, default=2, help="cores of the local Spark master")
    add("--driver-memory", default="4g", help="heap of every JVM")
    add(
        "--work-dir",
        type=Path,
        default=ROOT / "build" / "bench",
        help="folder of the inputs, which are kept, and of the tables, which are removed",
    )
    output = ROOT / "benchmarks" / "results" / f"{results}{stamp}.json"
    add("--output", type=Path, default=output, help="JSON file to write")
    add("--tpchgen", default=str(Path(sys.executable).parent / "tpchgen-cli"), help="the tpchgen-cli command")
    return parser


def add_choice(
    parser: argparse.ArgumentParser, flag: str, kind: str, known: Sequence[str], note: str = ""
) -> None:
    """Add an argument for comma-separated names out of `known`; by default, all names are chosen."""

    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        unknown = sorted(set(names) - set(known))
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
        return names

    parser.add_argument(
        flag, type=parse, default=known, help=f"{kind}, comma-separated{note}", metavar="NAMES"
    )


def add_merge(parser: argparse.ArgumentParser, kind: str) -> None:
    """Add the argument for the results of an earlier run."""
    text = f"JSON file of an earlier run; results of {kind} that this run does not measure are kept"
    parser.add_argument("--merge", type=Path, default=None, help=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Inputs, folders and settings of one run of a program."""

    inputs: Inputs
    work: Path
    cores: int
    driver_memory: str

    @classmethod
    def prepare(cls, options: argparse.Namespace, tables: str, **more: Any) -> Self:
        """Prepare the inputs.

        Args:
            tables: start of the name of the folder with the tables.
            more: further settings of a derived class.
        """
        work = options.work_dir.resolve()
        return cls(
            inputs=prepare_inputs(work / f"inputs-{options.scale:g}", options.scale, options.tpchgen),
            work=work / f"{tables}-{options.scale:g}",
            cores=options.cores,
            driver_memory=options.driver_memory,
            **more,
        )

    @property
    def scratch(self) -> Path:
        return self.work / "scratch"

    def empty_scratch(self) -> Path:
        """Return the scratch folder of the next process, without files of the previous process."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        return self.scratch

    def measure(
        self, job: Job | str, log_name: str, script: str = "worker.py", watcher: Watcher | None = None
    ) -> Measurement:
        """Run a job, which is the argument of a script, in a separate process.

        Args:
            watcher: see `bench.measuring.measure`.

        Raises:
            MeasuredProcessError: the process failed.
        """
        return measure(job, PYTHON_PATH, self.work / f"{log_name}.log", script, watcher)

    def remove_tables(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)


def turns(items: Sequence[_Item], rounds: int) -> Iterator[tuple[int, _Item]]:
    """Yield every item once per round, with the number of the round.

    Each round begins with a different item, so that none of the items always comes first.
    """
    for number in range(rounds if items else 0):
        first = number % len(items)
        for item in (*items[first:], *items[:first]):
            yield number, item


def write_document(path: Path, scale: float, **content: object) -> None:
    """Write the results so far as one JSON document, so that they are not lost if the run is stopped."""
    measured_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"measured_at": measured_at, "scale": scale, **content}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def run_program(main: Callable[[], int]) -> NoReturn:
    """Run a program, and exit with the code that the program returns, or with a message if a process failed."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        sys.exit(main())
    except MeasuredProcessError as error:
        sys.exit(f"A measured process failed. {error}")


def _stop(signal_number: int, _frame: object) -> None:
    """Exit with an exception, so that the measured process is stopped as well."""
    sys.exit(128 + signal_number)
