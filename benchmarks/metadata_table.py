"""Measure what the metadata table costs and saves: ``python benchmarks/metadata_table.py --help``.

Three variants take turns: this engine with a metadata table, this engine without one, and real Hudi with its metadata
table. Each ratio compares measurements of one round, so that the load of the machine affects both measurements
similarly. The program reports the median of the ratios over all rounds. Every measurement runs in a separate process
(and JVM). The program reads the rows back and compares them as ``run.py`` does. The exit code is 1 if a table contained
wrong rows.
"""

import argparse
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from bench.inputs import Inputs, prepare_inputs
from bench.measuring import MeasuredProcessError, Measurement, measure
from bench.metadata_cases import CASES, Case, Round, Variant, cpu_figures_of, figures_of
from bench.protocol import Job
from bench.scenarios import Scenario, scenario_named
from bench.sessions import HUDI_PACKAGE
from bench.tables import inspect_table
from run import PYTHON_PATH, ROOT, _names, _stop

_FIRST = "first_insert"
_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Inputs, folders and settings of one benchmark run."""

    inputs: Inputs
    work: Path
    cores: int
    driver_memory: str

    def base_table(self, name: str) -> Path:
        return self.work / "base" / name


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare the inputs, measure the cases round by round, print the figures and write them as JSON."""
    options = _parser().parse_args(arguments)
    work = options.work_dir.resolve()
    inputs = prepare_inputs(work / f"inputs-{options.scale:g}", options.scale, options.tpchgen)
    bench = Bench(
        inputs=inputs,
        work=work / f"metadata-tables-{options.scale:g}",
        cores=options.cores,
        driver_memory=options.driver_memory,
    )
    shutil.rmtree(bench.work, ignore_errors=True)
    rounds = _read(options.merge, options.only) if options.merge else []
    for case in (c for c in CASES if c.name in options.only):
        print(f"\n{case.scenario.title}", flush=True)
        chosen = replace(case, variants=tuple(v for v in case.variants if v.name in options.variants))
        for measured in _measure_case(bench, chosen, options.rounds):
            print(_line(case, measured), flush=True)
            rounds.append(measured)
            _write(options, rounds)
        print("\n".join(_figure_lines(case, rounds)), flush=True)
    print(f"\n{'':<50}{'figure':<36}{'time':>7}{'cpu':>7}{'target':>10}")
    for case in CASES:
        print("\n".join(_figure_lines(case, rounds)))
    print(f"\nWritten to {options.output}")
    if not options.keep:
        shutil.rmtree(bench.work, ignore_errors=True)
    return 0 if all(each.correct for each in rounds) else 1


def _measure_case(bench: Bench, case: Case, rounds: int) -> Iterator[Round]:
    for number in range(rounds if case.variants else 0):
        for variant in _in_turn(case.variants, number):
            yield _measure(bench, case, variant, number)


def _in_turn(variants: tuple[Variant, ...], number: int) -> tuple[Variant, ...]:
    """Return the variants in the order of one round.

    Each round begins with a different variant, so that none of the variants always runs first.
    """
    first = number % len(variants)
    return (*variants[first:], *variants[:first])


def _measure(bench: Bench, case: Case, variant: Variant, number: int) -> Round:
    scenario = case.scenario
    table = bench.work / variant.name / case.name
    shutil.rmtree(table, ignore_errors=True)
    table.parent.mkdir(parents=True, exist_ok=True)
    if scenario.on_base or scenario.is_service:
        shutil.copytree(_base(bench, case, variant), table)
    measurement = _run(bench, scenario, variant, table)
    state = inspect_table(variant.system, table, bench.inputs.columns)
    if case.name == _FIRST:
        _keep(table, bench.base_table(variant.name))
    else:
        shutil.rmtree(table)
    return Round(
        case=case.name,
        variant=variant.name,
        number=number,
        seconds=round(measurement.seconds, 3),
        write_seconds=tuple(round(s, 3) for s in measurement.write_seconds),
        cpu_seconds=round(measurement.cpu_seconds, 3),
        peak_memory_bytes=measurement.peak_memory_bytes,
        storage_bytes=state.storage_bytes,
        correct=state.content == bench.inputs.expected(scenario),
    )


def _base(bench: Bench, case: Case, variant: Variant) -> Path:
    """Return the table from which a measurement starts; create the table if it does not exist."""
    name = variant.base_name if not case.scenario.is_service else f"{case.name}-{variant.base_name}"
    base = bench.base_table(name)
    if base.exists():
        return base
    print(f"  (creating the table {name} first)", flush=True)
    base.parent.mkdir(parents=True, exist_ok=True)
    prepares = case.prepared or case.scenario.is_service
    scenario = case.scenario if prepares else scenario_named(_FIRST)
    maker = case.maker_of(variant)
    _run(bench, scenario, maker, base, prepares=prepares)
    return base


def _keep(table: Path, base: Path) -> None:
    shutil.rmtree(base, ignore_errors=True)
    base.parent.mkdir(parents=True, exist_ok=True)
    table.rename(base)


def _run(
    bench: Bench, scenario: Scenario, variant: Variant, table: Path, *, prepares: bool = False
) -> Measurement:
    scratch = bench.work / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    if scenario.is_service and not prepares:
        shutil.copytree(table, scratch / "warm_up_table")
    job = Job(
        system=variant.system.value,
        scenario=scenario.name,
        inputs=bench.inputs.folder,
        table=table,
        scratch=scratch,
        cores=bench.cores,
        driver_memory=bench.driver_memory,
        prepares=prepares,
        options=dict(variant.options),
    )
    try:
        return measure(job, PYTHON_PATH, bench.work / f"{variant.name}-{scenario.name}.log")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _line(case: Case, measured: Round) -> str:
    title = next(v.title for v in case.variants if v.name == measured.variant)
    return (
        f"  round {measured.number + 1}  {title:<28}{measured.seconds:>9.2f} s{measured.cpu_seconds:>9.1f} cpu s"
        f"{measured.peak_memory_bytes / _MIB:>9,.0f} MiB peak"
        f"{measured.storage_bytes / _MIB:>8,.0f} MiB stored  {'rows ok' if measured.correct else 'WRONG ROWS'}"
    )


def _figure_lines(case: Case, rounds: Sequence[Round]) -> Iterator[str]:
    by_cpu = dict(cpu_figures_of(case, rounds))
    for figure, value in figures_of(case, rounds):
        target = "" if figure.target is None else f"{'>=' if figure.at_least else '<='} {figure.target:g}"
        verdict = {True: "reached", False: "NOT REACHED", None: ""}[figure.is_reached(value)]
        cpu = f"{by_cpu[figure]:>7.2f}" if figure in by_cpu else " " * 7
        yield f"{case.scenario.title:<50}{figure.name:<36}{value:>7.2f}{cpu}{target:>10}  {verdict}"


def _write(options: argparse.Namespace, rounds: Sequence[Round]) -> None:
    """Write the rounds so far, so that they are not lost if the run is stopped."""
    figures = [
        {
            "case": case.name,
            "figure": figure.name,
            "of": of,
            "value": round(value, 3),
            "target": figure.target,
        }
        | {"reached": figure.is_reached(value)}
        for case in CASES
        for of, found in (("time", figures_of), ("processor time", cpu_figures_of))
        for figure, value in found(case, rounds)
    ]
    document = {
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "scale": options.scale,
        "settings": {"master": f"local[{options.cores}]", "driver_memory": options.driver_memory},
        "machine_cores": os.cpu_count(),
        "hudi": HUDI_PACKAGE,
        "figures": figures,
        "rounds": [asdict(each) for each in rounds],
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(document, indent=1))


def _read(path: Path, measured_again: Sequence[str]) -> list[Round]:
    found = json.loads(path.read_text())["rounds"]
    rounds = [Round(**{**each, "write_seconds": tuple(each["write_seconds"])}) for each in found]
    return [each for each in rounds if each.case not in measured_again]


def _parser() -> argparse.ArgumentParser:
    cases = [case.name for case in CASES]
    variants = sorted({variant.name for case in CASES for variant in case.variants})
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    parser = argparse.ArgumentParser(
        description="Measure this engine with and without a metadata table, and Hudi with its metadata table.",
        epilog=f"Cases: {', '.join(cases)}. Variants: {', '.join(variants)}.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--scale", type=float, default=1.0, help="TPC-H scale factor; 1 is 6.0 million rows")
    add("--only", type=_names(cases), default=cases, help="cases, comma-separated", metavar="NAMES")
    add(
        "--variants",
        type=_names(variants),
        default=variants,
        help="variants, comma-separated; ratios need all variants of a case",
        metavar="NAMES",
    )
    add(
        "--rounds",
        type=int,
        default=2,
        help="measurements of each variant; medians of the ratios are reported",
    )
    add("--cores", type=int, default=2, help="cores of the local Spark master")
    add("--driver-memory", default="4g", help="heap of every JVM")
    add("--work-dir", type=Path, default=ROOT / "build" / "bench", help="folder of inputs and tables")
    add(
        "--output",
        type=Path,
        default=ROOT / "benchmarks" / "results" / f"metadata-table-{stamp}.json",
        help="JSON file to write",
    )
    add(
        "--merge",
        type=Path,
        default=None,
        help="JSON file of an earlier run; results of cases that this run does not measure are kept",
    )
    add("--tpchgen", default=str(Path(sys.executable).parent / "tpchgen-cli"), help="the tpchgen-cli command")
    add("--keep", action="store_true", help="keep the tables and logs at the end")
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    try:
        sys.exit(main())
    except MeasuredProcessError as error:
        sys.exit(f"A measured process failed. {error}")
