"""Compare reads on Spark: this engine, real Apache Hudi and plain Parquet. See ``python benchmarks/reads.py --help``.

All systems read the same tables, which this engine prepares. Every measurement runs in a separate process (and JVM);
the systems take turns in each round. A read counts only if all systems return the same rows. The exit code is 1 if the
rows differ.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.figures import VERDICTS
from bench.measuring import Measurement
from bench.program import MIB, Bench, program_parser, run_program, turns, write_document
from bench.read_cases import READ_CASES, ReadCase, ReadRound
from bench.reading import ReadJob
from bench.scenarios import LINEITEM, WARM_UP, System

_TITLES = {System.OURS: "ours", System.HUDI: "Hudi 1.2.0", System.SPARK: "plain Parquet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBench(Bench):
    """Inputs, folders and settings of one run, and the tables that all systems read."""

    def table(self, name: str, first_input: str = LINEITEM) -> Path:
        """Return the folder of a table of `TABLES`; prepare the table if it does not exist."""
        folder = self.work / (name if first_input == LINEITEM else f"{first_input}-{name}")
        if not folder.exists():
            print(f"  (creating the table {folder.name} first)", flush=True)
            self.run(self.job(System.OURS, folder, prepares=name, first_input=first_input))
        return folder

    def job(self, system: System, table: Path, **work: str) -> ReadJob:
        """Return a job that reads or prepares a table."""
        return ReadJob(
            system=system.value,
            inputs=str(self.inputs.folder),
            table=str(table),
            scratch=str(self.scratch),
            cores=self.cores,
            driver_memory=self.driver_memory,
            **work,
        )

    def run(self, job: ReadJob) -> Measurement:
        """Run a job in a separate process."""
        self.empty_scratch()
        return self.measure(job.to_json(), f"{job.system}-{job.case or job.prepares}", "read_worker.py")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare tables, measure the reads round by round, print the ratios and write them as JSON."""
    options = _parser().parse_args(arguments)
    bench = ReadBench.prepare(options, "read-tables")
    if not options.keep:
        bench.remove_tables()
    bench.work.mkdir(parents=True, exist_ok=True)
    rounds: list[ReadRound] = []
    for case in (c for c in READ_CASES if c.name in options.only):
        print(f"\n{case.title}", flush=True)
        table, warm_up = bench.table(case.table), bench.table(case.table, WARM_UP)
        for number, system in turns(case.systems, options.rounds):
            job = bench.job(system, table, case=case.name, warm_up_table=str(warm_up))
            rounds.append(_measure(bench, job, number))
            print(_line(rounds[-1]), flush=True)
            _write(options, rounds)
    print("\n" + "\n".join(_ratio_lines(rounds)))
    differing = [case.title for case in READ_CASES if not _agree(case, rounds)]
    for title in differing:
        print(f"DIFFERENT ROWS: {title}")
    print(f"\nWritten to {options.output}")
    if not options.keep:
        bench.remove_tables()
    return 1 if differing else 0


def _measure(bench: ReadBench, job: ReadJob, number: int) -> ReadRound:
    found = bench.run(job)
    rows, checksum = json.loads((bench.scratch / "content.json").read_text(encoding="utf-8"))
    return ReadRound(
        case=job.case,
        system=System(job.system),
        number=number,
        seconds=round(found.seconds, 3),
        cpu_seconds=round(found.cpu_seconds, 3),
        peak_memory_bytes=found.peak_memory_bytes,
        rows=rows,
        checksum=checksum,
    )


def _agree(case: ReadCase, rounds: Sequence[ReadRound]) -> bool:
    return len({(r.rows, r.checksum) for r in rounds if r.case == case.name}) <= 1


def _line(measured: ReadRound) -> str:
    return (
        f"  round {measured.number + 1}  {_TITLES[measured.system]:<14}{measured.seconds:>8.2f} s"
        f"{measured.cpu_seconds:>8.1f} cpu s{measured.peak_memory_bytes / MIB:>8,.0f} MiB peak"
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
        verdict = "" if target is None else f"{target}  {VERDICTS[target.is_reached(ratio)]}"
        lines.append(f"{case.title:<46}{_TITLES[system]:<16}{ratio:>6.2f}x  {verdict}")
    return lines


def _write(options: argparse.Namespace, rounds: list[ReadRound]) -> None:
    ratios = [
        {
            "case": case.name,
            "against": system,
            "speed": round(ratio, 3),
            "target": case.targets[system].value if system in case.targets else None,
        }
        for case, system, ratio in _ratios(rounds)
    ]
    write_document(options.output, options.scale, ratios=ratios, rounds=[asdict(each) for each in rounds])


def _parser() -> argparse.ArgumentParser:
    parser = program_parser(
        "Compare reads of the TPC-H table lineitem on Spark.",
        kind="reads",
        names=[case.name for case in READ_CASES],
        results="reads-",
    )
    add = parser.add_argument
    add("--rounds", type=int, default=3, help="measurements of each system; the median ratio is reported")
    add("--keep", action="store_true", help="use the tables of an earlier run, and keep them")
    return parser


if __name__ == "__main__":
    run_program(main)
