"""Compare reads on Spark: this engine, real Apache Hudi and plain Parquet. See ``python benchmarks/reads.py --help``.

All systems read the same tables, which this engine prepares. Every measurement runs in a separate process (and JVM);
the systems take turns in each round. A read counts only if all systems return the same rows. The exit code is 1 if the
rows differ.
"""

import argparse
import json
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from bench.inputs import prepare_inputs
from bench.measuring import MeasuredProcessError, measure
from bench.read_cases import READ_CASES, ReadCase, ReadRound
from bench.reading import ReadJob
from bench.scenarios import LINEITEM, WARM_UP, System
from run import PYTHON_PATH, ROOT, _names, _stop

_MIB = 1 << 20
_TITLES = {System.OURS: "ours", System.HUDI: "Hudi 1.2.0", System.SPARK: "plain Parquet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBench:
    """Folders and settings of one run."""

    inputs: Path
    work: Path
    cores: int
    driver_memory: str

    def table(self, name: str, first_input: str = LINEITEM) -> Path:
        """Return the folder of a table of `TABLES`; prepare the table if it does not exist."""
        folder = self.work / (name if first_input == LINEITEM else f"{first_input}-{name}")
        if not folder.exists():
            print(f"  (creating the table {folder.name} first)", flush=True)
            self.run(
                ReadJob(
                    system=System.OURS.value,
                    prepares=name,
                    inputs=str(self.inputs),
                    first_input=first_input,
                    table=str(folder),
                    scratch=str(self.scratch),
                    cores=self.cores,
                    driver_memory=self.driver_memory,
                )
            )
        return folder

    @property
    def scratch(self) -> Path:
        return self.work / "scratch"

    def run(self, job: ReadJob) -> tuple[float, float, int]:
        """Run a job in a process; return its seconds, its processor seconds and its peak of memory in bytes."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        log = self.work / f"{job.system}-{job.case or job.prepares}.log"
        found = measure(job.to_json(), PYTHON_PATH, log, script="read_worker.py")
        return found.seconds, found.cpu_seconds, found.peak_memory_bytes


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare tables, measure the reads round by round, print the ratios and write them as JSON."""
    options = _parser().parse_args(arguments)
    work = options.work_dir.resolve()
    inputs = prepare_inputs(work / f"inputs-{options.scale:g}", options.scale, options.tpchgen)
    bench = ReadBench(
        inputs=inputs.folder,
        work=work / f"read-tables-{options.scale:g}",
        cores=options.cores,
        driver_memory=options.driver_memory,
    )
    if not options.keep:
        shutil.rmtree(bench.work, ignore_errors=True)
    bench.work.mkdir(parents=True, exist_ok=True)
    rounds: list[ReadRound] = []
    for case in (c for c in READ_CASES if c.name in options.only):
        print(f"\n{case.title}", flush=True)
        table, warm_up = bench.table(case.table), bench.table(case.table, WARM_UP)
        for number in range(options.rounds):
            for system in _in_turn(case.systems, number):
                rounds.append(_measure(bench, case, system, number, table, warm_up))
                print(_line(rounds[-1]), flush=True)
        _write(options, rounds)
    print("\n" + "\n".join(_ratio_lines(rounds)))
    differing = [case.title for case in READ_CASES if not _agree(case, rounds)]
    for title in differing:
        print(f"DIFFERENT ROWS: {title}")
    print(f"\nWritten to {options.output}")
    if not options.keep:
        shutil.rmtree(bench.work, ignore_errors=True)
    return 1 if differing else 0


def _in_turn(systems: tuple[System, ...], number: int) -> tuple[System, ...]:
    first = number % len(systems)
    return (*systems[first:], *systems[:first])


def _measure(
    bench: ReadBench, case: ReadCase, system: System, number: int, table: Path, warm_up: Path
) -> ReadRound:
    seconds, cpu_seconds, peak = bench.run(
        ReadJob(
            system=system.value,
            case=case.name,
            inputs=str(bench.inputs),
            table=str(table),
            warm_up_table=str(warm_up),
            scratch=str(bench.scratch),
            cores=bench.cores,
            driver_memory=bench.driver_memory,
        )
    )
    rows, checksum = json.loads((bench.scratch / "content.json").read_text(encoding="utf-8"))
    return ReadRound(
        case=case.name,
        system=system,
        number=number,
        seconds=round(seconds, 3),
        cpu_seconds=round(cpu_seconds, 3),
        peak_memory_bytes=peak,
        rows=rows,
        checksum=checksum,
    )


def _agree(case: ReadCase, rounds: Sequence[ReadRound]) -> bool:
    return len({(r.rows, r.checksum) for r in rounds if r.case == case.name}) <= 1


def _line(measured: ReadRound) -> str:
    return (
        f"  round {measured.number + 1}  {_TITLES[measured.system]:<14}{measured.seconds:>8.2f} s"
        f"{measured.cpu_seconds:>8.1f} cpu s{measured.peak_memory_bytes / _MIB:>8,.0f} MiB peak"
        f"{measured.rows:>12,} rows"
    )


def _ratios(rounds: list[ReadRound]) -> list[tuple[ReadCase, System, float]]:
    return [
        (case, system, ratio)
        for case in READ_CASES
        for system in case.systems
        if system is not System.OURS and (ratio := case.ratio_to(system, rounds)) is not None
    ]


def _ratio_lines(rounds: list[ReadRound]) -> list[str]:
    lines = [f"{'read':<46}{'against':<16}{'speed':>7}{'target':>9}"]
    for case, system, ratio in _ratios(rounds):
        target = case.targets.get(system)
        verdict = (
            "" if target is None else f">= {target:g}  {'reached' if ratio >= target else 'NOT REACHED'}"
        )
        lines.append(f"{case.title:<46}{_TITLES[system]:<16}{ratio:>6.2f}x  {verdict}")
    return lines


def _write(options: argparse.Namespace, rounds: list[ReadRound]) -> None:
    """Write the rounds so far, so that they are not lost if the run is stopped."""
    document = {
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "scale": options.scale,
        "ratios": [
            {
                "case": case.name,
                "against": system,
                "speed": round(ratio, 3),
                "target": case.targets.get(system),
            }
            for case, system, ratio in _ratios(rounds)
        ],
        "rounds": [asdict(each) for each in rounds],
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    cases = [case.name for case in READ_CASES]
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    parser = argparse.ArgumentParser(
        description="Compare reads of the TPC-H table lineitem on Spark.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--scale", type=float, default=1.0, help="TPC-H scale factor; 1 is 6.0 million rows")
    add("--only", type=_names(cases), default=cases, help="reads, comma-separated", metavar="NAMES")
    add("--rounds", type=int, default=3, help="measurements of each system; the median ratio is reported")
    add("--cores", type=int, default=2, help="cores of the local Spark master")
    add("--driver-memory", default="4g", help="heap of every JVM")
    add("--work-dir", type=Path, default=ROOT / "build" / "bench", help="folder of inputs and tables")
    add(
        "--output",
        type=Path,
        default=ROOT / "benchmarks" / "results" / f"reads-{stamp}.json",
        help="JSON file to write",
    )
    add("--tpchgen", default=str(Path(sys.executable).parent / "tpchgen-cli"), help="the tpchgen-cli command")
    add("--keep", action="store_true", help="use the tables of an earlier run, and keep them")
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    try:
        sys.exit(main())
    except MeasuredProcessError as error:
        sys.exit(f"A measured process failed. {error}")
