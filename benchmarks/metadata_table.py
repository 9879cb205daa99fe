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
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.figures import VERDICTS
from bench.measuring import Measurement
from bench.metadata_cases import CASES, Case, Round, Variant, cpu_figures_of, figures_of
from bench.program import (
    MIB,
    Bench,
    add_choice,
    add_merge,
    program_parser,
    run_program,
    turns,
    write_document,
)
from bench.protocol import Job
from bench.scenarios import Scenario, scenario_named
from bench.sessions import HUDI_PACKAGE
from bench.tables import inspect_table

_FIRST = "first_insert"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare the inputs, measure the cases round by round, print the figures and write them as JSON."""
    options = _parser().parse_args(arguments)
    bench = Bench.prepare(options, "metadata-tables")
    bench.remove_tables()
    rounds = _read(options.merge, options.only) if options.merge else []
    for case in (c for c in CASES if c.name in options.only):
        print(f"\n{case.scenario.title}", flush=True)
        variants = [v for v in case.variants if v.name in options.variants]
        for number, variant in turns(variants, options.rounds):
            rounds.append(_measure(bench, case, variant, number))
            print(_line(case, rounds[-1]), flush=True)
            _write(options, rounds)
        print("\n".join(_figure_lines(case, rounds)), flush=True)
    print(f"\n{'':<50}{'figure':<36}{'time':>7}{'cpu':>7}{'target':>10}")
    for case in CASES:
        print("\n".join(_figure_lines(case, rounds)))
    print(f"\nWritten to {options.output}")
    if not options.keep:
        bench.remove_tables()
    return 0 if all(each.correct for each in rounds) else 1


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
        _keep(table, _base_folder(bench, variant.name))
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
    base = _base_folder(bench, name)
    if base.exists():
        return base
    print(f"  (creating the table {name} first)", flush=True)
    base.parent.mkdir(parents=True, exist_ok=True)
    prepares = case.prepared or case.scenario.is_service
    scenario = case.scenario if prepares else scenario_named(_FIRST)
    maker = case.maker_of(variant)
    _run(bench, scenario, maker, base, prepares=prepares)
    return base


def _base_folder(bench: Bench, name: str) -> Path:
    return bench.work / "base" / name


def _keep(table: Path, base: Path) -> None:
    shutil.rmtree(base, ignore_errors=True)
    base.parent.mkdir(parents=True, exist_ok=True)
    table.rename(base)


def _run(
    bench: Bench, scenario: Scenario, variant: Variant, table: Path, *, prepares: bool = False
) -> Measurement:
    scratch = bench.empty_scratch()
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
        return bench.measure(job, f"{variant.name}-{scenario.name}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _line(case: Case, measured: Round) -> str:
    title = next(v.title for v in case.variants if v.name == measured.variant)
    return (
        f"  round {measured.number + 1}  {title:<28}{measured.seconds:>9.2f} s{measured.cpu_seconds:>9.1f} cpu s"
        f"{measured.peak_memory_bytes / MIB:>9,.0f} MiB peak"
        f"{measured.storage_bytes / MIB:>8,.0f} MiB stored  {'rows ok' if measured.correct else 'WRONG ROWS'}"
    )


def _figure_lines(case: Case, rounds: Sequence[Round]) -> Iterator[str]:
    by_cpu = dict(cpu_figures_of(case, rounds))
    for figure, value in figures_of(case, rounds):
        target, verdict = str(figure.target or ""), VERDICTS[figure.is_reached(value)]
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
            "target": figure.target and figure.target.value,
            "reached": figure.is_reached(value),
        }
        for case in CASES
        for of, found in (("time", figures_of), ("processor time", cpu_figures_of))
        for figure, value in found(case, rounds)
    ]
    write_document(
        options.output,
        options.scale,
        settings={"master": f"local[{options.cores}]", "driver_memory": options.driver_memory},
        machine_cores=os.cpu_count(),
        hudi=HUDI_PACKAGE,
        figures=figures,
        rounds=[asdict(each) for each in rounds],
    )


def _read(path: Path, measured_again: Sequence[str]) -> list[Round]:
    found = json.loads(path.read_text())["rounds"]
    rounds = [Round(**{**each, "write_seconds": tuple(each["write_seconds"])}) for each in found]
    return [each for each in rounds if each.case not in measured_again]


def _parser() -> argparse.ArgumentParser:
    variants = sorted({variant.name for case in CASES for variant in case.variants})
    parser = program_parser(
        "Measure this engine with and without a metadata table, and Hudi with its metadata table.",
        kind="cases",
        names=[case.name for case in CASES],
        results="metadata-table-",
        more=f"Variants: {', '.join(variants)}.",
    )
    add_choice(parser, "--variants", "variants", variants, "; ratios need all variants of a case")
    add = parser.add_argument
    add(
        "--rounds",
        type=int,
        default=2,
        help="measurements of each variant; ratios are medians over all rounds",
    )
    add_merge(parser, "cases")
    add("--keep", action="store_true", help="keep the tables and logs at the end")
    return parser


if __name__ == "__main__":
    run_program(main)
